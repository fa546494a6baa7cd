"""robots.txt by RFC 9309: how to fetch it, what its status means, and what its rules say.

A RobotsFile can be rebuilt from the store. Its text is parsed when the first rule is needed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import NOTHING_SENT, Exchange, Failure, FailureKind, retry_after_s
from shoal.fetch.robots_rules import Rules

if TYPE_CHECKING:
    from shoal.fetch.proxies.provider_fetcher import ProviderFetcher

MAX_REDIRECTS = 5
MAX_ROBOTS_BYTES = 500 * 1024
MOST_SECONDS = 45.0
"""Of one request: other workers of a fleet wait a minute for the file."""
_BOM = re.compile(rb"\xef(?:\xbb\xbf?)?")
"""A byte order mark, or what an editor left of one."""
# One byte more than is parsed, so that truncation is noticed.
_CALL = Fetch("", max_bytes=MAX_ROBOTS_BYTES + 1, truncate=True)
_NONE: Mapping[str, str] = MappingProxyType({})
_FILE_BYTES = 2_000
_COMPATIBLE = re.compile(r"compatible;\s*([\w-]+)")
_FIRST = re.compile(r"\s*([\w-]+)")
_HTML = re.compile(rb"(?:\s++|<!--.*?-->)*+<", re.DOTALL)


@dataclass(frozen=True)
class RobotsFile:
    """A host's response to the request for its robots.txt."""

    origin: str
    agent: str
    status: int | None
    """Status of the last response, after redirects; None: there was none."""
    body: bytes
    fetched_at: float
    retry_after_s: float | None = None
    failure: Failure | None = None
    read_rules: Rules | None = None
    """The rules, if the body was dropped."""

    @property
    def unavailable_reason(self) -> str:
        """Why nothing may be fetched from this host yet; empty if it may."""
        if self.status is None:
            detail = f": {self.failure.detail}" if self.failure else ""
            return f"robots.txt cannot be fetched{detail}"
        if self.status >= 500 or self.status == 429:
            return f"robots.txt answered {self.status}"
        return ""

    @property
    def is_refused(self) -> bool:
        """The address guard of one job refused its host, or the certificate, which means nothing for other jobs."""
        return self.failure is not None and self.failure.kind in NOTHING_SENT

    @property
    def has_rules(self) -> bool:
        """Whether the file has any rules, for any crawler."""
        return bool(self._text().strip())

    @cached_property
    def rules(self) -> Rules:
        return self.read_rules or Rules(self._text(), product_token(self.agent))

    @property
    def size_bytes(self) -> int:
        """About how much memory the parsed rules take."""
        return _FILE_BYTES + len(self.body) + self.rules.size_bytes

    def read(self) -> RobotsFile:
        """The same with parsed rules and without the larger body."""
        return replace(self, body=b"", read_rules=self.rules)

    def _text(self) -> str:
        readable = self.status is not None and 200 <= self.status < 300
        mark = _BOM.match(self.body)
        body = self.body[mark.end() :] if mark else self.body
        if not readable or _is_html(body):
            return ""
        return complete_lines(body).decode("utf-8", "replace")


async def fetch_robots(
    fetcher: Fetcher | ProviderFetcher,
    origin: str,
    proxy: str = "",
    credentials: str = "",
    headers: Mapping[str, str] = _NONE,
    timeout_s: float = MOST_SECONDS,
    remote_dns: bool = False,
) -> RobotsFile:
    """Fetches from `origin` (scheme and authority) and follows redirects. Credentials and headers go only to it."""
    any_call = replace(_CALL, proxy=proxy, remote_dns=remote_dns, deadline_s=min(timeout_s, MOST_SECONDS))
    own_call = replace(any_call, credentials=credentials, headers=headers)
    answer = await fetcher.fetch(replace(own_call, url=f"{origin}/robots.txt"))
    visited = {f"{origin}/robots.txt"}
    for _ in range(MAX_REDIRECTS):
        url = answer.location if isinstance(answer, Exchange) else None
        if url is None or url in visited or not url.startswith(("http://", "https://")):
            break
        visited.add(url)
        answer = await fetcher.fetch(replace(own_call if url.startswith(f"{origin}/") else any_call, url=url))
    return _robots_file(origin, fetcher.agent, answer)


def _robots_file(origin: str, agent: str, answer: Exchange | Failure) -> RobotsFile:
    now = time.time()
    if isinstance(answer, Failure):
        return RobotsFile(origin, agent, None, b"", now, failure=answer)
    if _is_truncated(answer):
        truncated = Failure(
            FailureKind.UNDECODABLE, f"its compressed body is incomplete: {answer.fault}", answer.latency_s
        )
        return RobotsFile(origin, agent, None, b"", now, failure=truncated)
    wait_s = retry_after_s(answer.headers.get("retry-after"), now)
    body = answer.body[: MAX_ROBOTS_BYTES + 1]
    return RobotsFile(origin, agent, answer.status, body, now, retry_after_s=wait_s)


def _is_truncated(answer: Exchange) -> bool:
    """Whether rules may be missing that we would read. Beyond our own limit we read none, and an error has none."""
    is_cut_by_us = len(answer.raw) >= _CALL.max_bytes or len(answer.body) > MAX_ROBOTS_BYTES
    return answer.fault is not None and 200 <= answer.status < 300 and not is_cut_by_us


def _is_html(body: bytes) -> bool:
    """Many sites send a page for every file that they do not have. Some files with rules begin with an HTML comment."""
    return _HTML.match(body) is not None


def product_token(agent: str) -> str:
    """The name by which a robots.txt addresses this crawler: `shoal` for `shoal/0.1.0 (+https://…)` and for
    `Mozilla/5.0 (compatible; shoal/0.1.0)`."""
    found = _COMPATIBLE.search(agent) or _FIRST.match(agent)
    return found[1] if found else agent


def complete_lines(body: bytes) -> bytes:
    """The part of the body that is parsed. A rule cut in two could forbid far more than it says."""
    if len(body) <= MAX_ROBOTS_BYTES:
        return body
    body = body[:MAX_ROBOTS_BYTES]
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
