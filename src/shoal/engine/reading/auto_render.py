"""Decides which pages of a job with `--render auto` a browser loads.

A page is fetched without one first. If it is an empty shell, or the spider finds none of what it looks for, a browser
loads it. What that gains is learnt per host and path pattern: where rendering helped, later pages are rendered at once,
and where it did not, they are not. One page in RECHECKED_ONE_IN is tried the other way, because sites change. The
counts last over a restart, and the workers of a fleet share them (`learnt_counts.py`).

If the browser does not start, pages are taken as they are, and those that need one are marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shoal.engine.learnt_counts import LearntCounts
from shoal.engine.request_result import RequestResult
from shoal.extract.html_tags import HTML_TYPES
from shoal.extract.needs_render import needs_render
from shoal.extract.page import read
from shoal.fetch.exchange import Exchange
from shoal.model import Lease, PageRecord
from shoal.store.crawl.learnt_counts import RENDER_GAINED, RENDER_WASTED
from shoal.telemetry import EventLogger
from shoal.urls.path_pattern import path_pattern

RENDERED_AFTER = 2
"""So many pages of a pattern gained by rendering: the next ones are rendered at once."""
LEFT_AFTER = 3
"""So many gained nothing: the next ones are not rendered."""
RECHECKED_ONE_IN = 50
GAINED_CHARS = 40
"""A rendered page with so much more text has gained. If it had less than that before, any more is a gain: a name and a
price may be all that a page is about."""
JUDGED_BYTES = 128 * 1024
MOST_PATTERNS = 50_000
"""Of a job. Further ones are not learnt."""

log = EventLogger(__name__)


@dataclass(slots=True)
class Experience:
    gained: int = 0
    wasted: int = 0
    handed_over: int = 0
    """While the process had no browser: pages in a row that a plain fetch was not enough for."""

    @property
    def renders_at_once(self) -> bool:
        return self.gained >= RENDERED_AFTER and self.gained > self.wasted

    @property
    def is_left(self) -> bool:
        return self.wasted >= LEFT_AFTER and not self.gained

    @property
    def verdict(self) -> tuple[bool, bool]:
        return self.renders_at_once, self.is_left


class AutoRender:
    def __init__(self, learnt: LearntCounts, has_browser: Callable[[], bool] = lambda: True) -> None:
        """While a process has no browser, it leaves pages to others, and does not see what that gains."""
        self.learnt = learnt
        self._has_browser = has_browser
        self._known: dict[str, Experience] = {}
        self.has_given_up = False
        """Whether no browser starts."""

    def load(self, stored: Mapping[tuple[str, str], int]) -> None:
        """Takes over the stored counts, in which those of other workers are."""
        for (kind, key), n in stored.items():
            if kind not in (RENDER_GAINED, RENDER_WASTED):
                continue
            # Two workers that find at once that a pattern no longer gains may take off more than there was.
            n = max(0, n + self.learnt.unsaved(kind, key))
            experience = self._known.setdefault(key, Experience())
            if kind == RENDER_GAINED:
                experience.gained = n
            else:
                experience.wasted = n

    def give_up(self, why: str) -> None:
        if not self.has_given_up:
            log.error("browser_missing", f"pages that need a browser are taken without one, and marked: {why}")
        self.has_given_up = True

    def at_once(self, lease: Lease) -> bool:
        """Whether to load the page in a browser without a plain fetch, or without another one, before."""
        if self.has_given_up:
            return False
        if not self._known:
            # As on most sites: nothing was ever rendered.
            return lease.needs_browser
        experience = self._experience(lease)
        if lease.needs_browser:
            return not experience.is_left or _is_rechecked(lease)
        is_known = experience.renders_at_once or self._is_handed_over(experience)
        return is_known and not _is_rechecked(lease)

    def is_shell(self, lease: Lease, answer: Exchange) -> bool:
        """Whether a page that was fetched without a browser is to be rendered before anybody reads it."""
        if not self._may_judge(lease, answer) or needs_render(answer.body) is None:
            return False
        self._note_handed_over(lease)
        return True

    def lacks_items(self, lease: Lease, answer: Exchange, done: RequestResult) -> bool:
        """Whether the spider found nothing that it looked for on a page without a browser, where scripts may add it."""
        if not done.lacks_items and not self._known:
            # There is nothing to note.
            return False
        if not self._may_judge(lease, answer):
            return False
        if not done.lacks_items or b"<script" not in answer.body.lower():
            self._note_enough(lease)
            return False
        self._note_handed_over(lease)
        return True

    def learn(self, lease: Lease, answer: Exchange, done: RequestResult) -> None:
        """Notes what a browser gained on a page that was fetched without one before."""
        if answer.rendered is None or not lease.needs_browser:
            return
        items = done.record.items if isinstance(done.record, PageRecord) else []
        gained = bool(items) or _has_gained(answer.rendered.document, answer.body)
        self._add(lease, RENDER_GAINED if gained else RENDER_WASTED, 1)

    def _may_judge(self, lease: Lease, answer: Exchange) -> bool:
        if lease.needs_browser and not self.has_given_up:
            # It came back because a browser gained nothing on such pages.
            return False
        kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip().lower()
        if not 200 <= answer.status < 300 or kind not in HTML_TYPES:
            return False
        return not self._known or not self._experience(lease).is_left or _is_rechecked(lease)

    def _note_enough(self, lease: Lease) -> None:
        """A page of a pattern that is rendered at once was enough without a browser."""
        experience = self._experience(lease)
        experience.handed_over = 0
        if experience.renders_at_once:
            self._add(lease, RENDER_GAINED, experience.gained // 2 - experience.gained)

    def _add(self, lease: Lease, kind: str, n: int) -> None:
        experience, key = self._experience(lease), _pattern(lease)
        if not self._keep(key, experience):
            return
        before = experience.verdict
        if kind == RENDER_GAINED:
            experience.gained += n
        else:
            experience.wasted += n
        self.learnt.add(kind, key, n, lease.target.url)
        self.learnt.has_news |= experience.verdict != before

    def _is_handed_over(self, experience: Experience) -> bool:
        """With a browser it looks itself what rendering gains there."""
        return experience.handed_over >= RENDERED_AFTER and not experience.is_left and not self._has_browser()

    def _note_handed_over(self, lease: Lease) -> None:
        if not self._has_browser():
            experience = self._experience(lease)
            experience.handed_over = min(RENDERED_AFTER, experience.handed_over + 1)
            self._keep(_pattern(lease), experience)

    def _keep(self, key: str, experience: Experience) -> bool:
        """Whether there is room for it."""
        if key not in self._known and len(self._known) >= MOST_PATTERNS:
            return False
        self._known[key] = experience
        return True

    def _experience(self, lease: Lease) -> Experience:
        return self._known.get(_pattern(lease)) or Experience()


def _pattern(lease: Lease) -> str:
    return f"{lease.target.host} {path_pattern(lease.target.url)}"


def _is_rechecked(lease: Lease) -> bool:
    # By the token, so that it is the same whenever it is asked.
    return lease.token % RECHECKED_ONE_IN == 0


def _has_gained(before: bytes, after: bytes) -> bool:
    """Judged by the beginning of both: this runs on the event loop."""
    had, has = (len(read(html[:JUDGED_BYTES]).text()) for html in (before, after))
    return has >= had + (GAINED_CHARS if had >= GAINED_CHARS else 1)
