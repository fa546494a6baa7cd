"""robots.txt by RFC 9309: how it is fetched, what its status means, and what its rules say.

A RobotsFile can be rebuilt from what was stored of it; the text is parsed when the first rule is asked for.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange, Failure, FailureKind, retry_after_s
from shoal.fetch.robots_rules import Rules
from shoal.fetch.transfer import Fetch

MAX_REDIRECTS = 5
MAX_ROBOTS_BYTES = 500 * 1024
_BOM = b"\xef\xbb\xbf"
# One byte more than is parsed, so that a cut shows.
_CALL = Fetch("", max_bytes=MAX_ROBOTS_BYTES + 1, truncate=True)
_NONE: Mapping[str, str] = MappingProxyType({})
_FILE_BYTES = 2_000
_COMPATIBLE = re.compile(r"compatible;\s*([\w-]+)")
_FIRST = re.compile(r"\s*([\w-]+)")


@dataclass(frozen=True)
class RobotsFile:
    """A host's answer to the question for its robots.txt."""

    origin: str
    agent: str
    status: int | None
    """Of the last answer, after redirects; None: there was none."""
    body: bytes
    fetched_at: float
    retry_after_s: float | None = None
    failure: Failure | None = None
    read_rules: Rules | None = None
    """Of one whose body is not kept."""

    @property
    def not_now(self) -> str:
        """Why nothing of this host may be fetched yet; empty if it may."""
        if self.status is None:
            return (
                f"robots.txt is out of reach: {self.failure.detail}" if self.failure else "robots.txt is out of reach"
            )
        if self.status >= 500 or self.status == 429:
            return f"robots.txt answered {self.status}"
        return ""

    @property
    def is_refused(self) -> bool:
        """By the guard of one job, which says nothing about others."""
        return self.failure is not None and self.failure.kind is FailureKind.ADDRESS_REFUSED

    @property
    def has_rules(self) -> bool:
        """Whether there is a file that says anything, to whomever."""
        return bool(self._text().strip())

    @cached_property
    def rules(self) -> Rules:
        return self.read_rules or Rules(self._text(), product_token(self.agent))

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory when it has been read."""
        return _FILE_BYTES + len(self.body) + self.rules.size_bytes

    def read(self) -> RobotsFile:
        """The same with its rules, and without the body that says them at greater length."""
        return replace(self, body=b"", read_rules=self.rules)

    def _text(self) -> str:
        readable = self.status is not None and 200 <= self.status < 300
        body = self.body.removeprefix(_BOM)
        # A page in place of the file, as many sites answer for whatever they do not have.
        if not readable or body.lstrip()[:1] == b"<":
            return ""
        return whole_lines(body).decode("utf-8", "replace")


async def fetch_robots(
    fetcher: Fetcher, origin: str, proxy: str = "", credentials: str = "", headers: Mapping[str, str] = _NONE
) -> RobotsFile:
    """Asks `origin` (scheme and authority), following redirects; credentials and headers stay at that origin."""
    answer = await fetcher.fetch(
        replace(_CALL, url=f"{origin}/robots.txt", proxy=proxy, credentials=credentials, headers=headers)
    )
    visited = {f"{origin}/robots.txt"}
    for _ in range(MAX_REDIRECTS):
        url = answer.location if isinstance(answer, Exchange) else None
        if url is None or url in visited or not url.startswith(("http://", "https://")):
            break
        visited.add(url)
        own = url.startswith(f"{origin}/")
        call = replace(_CALL, url=url, proxy=proxy)
        answer = await fetcher.fetch(replace(call, credentials=credentials, headers=headers) if own else call)
    return _robots_file(origin, fetcher.agent, answer)


def _robots_file(origin: str, agent: str, answer: Exchange | Failure) -> RobotsFile:
    now = time.time()
    if isinstance(answer, Failure):
        return RobotsFile(origin, agent, None, b"", now, failure=answer)
    if _is_torn(answer):
        torn = Failure(FailureKind.UNDECODABLE, f"its coded body is not whole: {answer.fault}", answer.latency_s)
        return RobotsFile(origin, agent, None, b"", now, failure=torn)
    wait_s = retry_after_s(answer.headers.get("retry-after"), now)
    body = answer.body[: MAX_ROBOTS_BYTES + 1]
    return RobotsFile(origin, agent, answer.status, body, now, retry_after_s=wait_s)


def _is_torn(answer: Exchange) -> bool:
    """Rules may be missing that would be read. Those we cut off ourselves would not, and a refusal has none."""
    is_cut_by_us = len(answer.raw) >= _CALL.max_bytes or len(answer.body) > MAX_ROBOTS_BYTES
    return answer.fault is not None and 200 <= answer.status < 300 and not is_cut_by_us


def product_token(agent: str) -> str:
    """The name a robots.txt calls this crawler by: `shoal` for `shoal/0.1.0 (+https://…)` and for
    `Mozilla/5.0 (compatible; shoal/0.1.0)`."""
    found = _COMPATIBLE.search(agent) or _FIRST.match(agent)
    return found[1] if found else agent


def whole_lines(body: bytes) -> bytes:
    """What of the body is parsed. A rule cut in two could forbid far more than it says."""
    if len(body) <= MAX_ROBOTS_BYTES:
        return body
    body = body[:MAX_ROBOTS_BYTES]
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
