"""Recognizes a refusal that looks like a page: a login form, a redirect to one, or a list without items, where the same
host gave better.

One such page says nothing: a site may have a login page, and the last page of a list may be empty. So only a run of
them is judged, by what the same callback found at the same host before; without a spider, by pages whose paths have the
same pattern, and whose queries have the same names.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from shoal.engine.active_job import ActiveJob
from shoal.engine.reading.interpret_response import is_wanted
from shoal.engine.request_result import RequestResult
from shoal.extract.html_tags import HTML_TYPES
from shoal.fetch.blocks.find_block import READ_BYTES, Block
from shoal.fetch.exchange import Exchange
from shoal.model import Lease, PageRecord
from shoal.urls.path_pattern import path_pattern

ENOUGH_GOOD = 5
"""With fewer good pages there is nothing to compare with."""
LEAST_RUN = 5
CHANCE = 1e-4
"""A run of such pages counts as a block if it is less likely than this, by the share of such pages before."""
_MOST_KINDS = 10_000
_PASSWORD = re.compile(rb"<input\b[^>]{0,300}\btype\s*=\s*[\"']?password", re.IGNORECASE)
_LOGIN_TITLE = re.compile(
    rb"<(?:title|h1)[^>]{0,200}>[^<]{0,100}?"
    rb"\b(?:log[ -]?in|sign[ -]?in|anmeld|einloggen|connexion|se connecter|iniciar ses|accedi|inloggen)",
    re.IGNORECASE,
)
_NAMES_LOGIN = re.compile(
    r"login|logon|signin(?!g)|(?<![a-z])(?:log|sign)[-_.+]in(?![a-z])|oauth|(?<![a-z])(?:auth|sso)(?![a-z])|authenti"
    r"|anmeld|einloggen|connexion|iniciar|inloggen|accedi",
    re.IGNORECASE,
)
"""In the path or query of a URL whose page may well be a login form."""
_LOG_IN = "log in with --cookie, --cookie-file or a session of the spider, if you have an account, or leave it out"
_SLOW_DOWN = "slow down with --rate, see what the site shows there, and `shoal dead --retry` when it has items again"


@dataclass(slots=True)
class Experience:
    """Of one kind of pages."""

    good: int = 0
    empty: int = 0
    """Without those of the run."""
    run: int = 0
    """Pages without items since the last good one."""
    logins: int = 0
    """Login forms, without those of the run."""
    login_run: int = 0

    def note_good(self) -> None:
        self.good, self.empty, self.run = self.good + 1, self.empty + self.run, 0
        self.logins, self.login_run = self.logins + self.login_run, 0

    @property
    def is_run_a_block(self) -> bool:
        return _is_no_chance(self.good, self.empty, self.run)

    @property
    def is_login_run_a_block(self) -> bool:
        return _is_no_chance(self.good, self.logins, self.login_run)


class SoftBlocks:
    """Of one job."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Experience] = OrderedDict()

    def login_wall(self, active_job: ActiveJob, lease: Lease, answer: Exchange) -> Block | None:
        is_redirect = answer.location is not None and names_login(answer.location)
        is_form = answer.status == 200 and _asks_for_login(answer)
        if not (is_redirect or is_form) or is_wanted(lease, answer) or names_login(lease.target.url):
            return None
        found = self._experience(active_job, lease)
        found.login_run += 1
        if not found.is_login_run_a_block:
            return None
        shown = f"a redirect to {answer.location}" if is_redirect else "a login form"
        mark = f"status {answer.status}, {shown} on {found.login_run} pages in a row"
        mark += f", after {found.good:,} good ones like them"
        return Block("the site", mark, _LOG_IN)

    def empty_list(self, active_job: ActiveJob, lease: Lease, answer: Exchange, result: RequestResult) -> Block | None:
        """Learns from a page that was read."""
        record = result.record
        if not isinstance(record, PageRecord) or not 200 <= record.status < 300 or is_wanted(lease, answer):
            return None
        if not record.items and record.content_type in HTML_TYPES and _asks_for_login(answer):
            return None
        found = self._experience(active_job, lease)
        if not result.lacks_items:
            if active_job.callbacks is None or record.items or result.offers:
                found.note_good()
            return None
        if result.offers:
            # It led to other pages: a category without products of its own, for example. A block would lose its links.
            return None
        found.run += 1
        if not found.is_run_a_block:
            return None
        mark = f"status {record.status}, no items on {found.run} pages in a row, after {found.good:,} with items"
        return Block("the site", mark, _SLOW_DOWN)

    def _experience(self, active_job: ActiveJob, lease: Lease) -> Experience:
        target = lease.target
        kind = _kind(target.url) if active_job.callbacks is None else lease.trail.callback
        found = self._known.get((target.host, kind))
        if found is None:
            found = self._known[target.host, kind] = Experience()
            if len(self._known) > _MOST_KINDS:
                self._known.popitem(last=False)
        return found


def _kind(url: str) -> str:
    query = url.partition("?")[2]
    names = sorted({name for name, _ in parse_qsl(query, keep_blank_values=True)}) if query else ()
    return f"{path_pattern(url)}?{'&'.join(names)}" if names else path_pattern(url)


def names_login(url: str) -> bool:
    parts = urlsplit(url)
    return _NAMES_LOGIN.search(f"{parts.path}?{parts.query}") is not None


def _is_no_chance(good: int, before: int, run: int) -> bool:
    share = (before + 1) / (good + before + 2)
    return good >= ENOUGH_GOOD and run >= LEAST_RUN and share**run < CHANCE


def _asks_for_login(answer: Exchange) -> bool:
    """Looked for once: it takes a tenth of the parse, and an answer is judged before it is read and after."""
    if answer.asks_for_login is None:
        begins = answer.body[:READ_BYTES]
        has_password = b"assword" in begins or b"PASSWORD" in begins
        is_form = has_password and _PASSWORD.search(begins) is not None and _LOGIN_TITLE.search(begins) is not None
        answer.asks_for_login = is_form
    return answer.asks_for_login
