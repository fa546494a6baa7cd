"""Fetches one page, or opens a saved one, for commands that only inspect it: no home, no job, nothing is stored.

It fetches like a crawl: with the address guard, robots.txt of every origin, and redirects followed one by one.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shoal.engine.reading.retry_policy import MAX_HOPS
from shoal.engine.robots.check import failure_of
from shoal.errors import InvalidURL, ShoalError, UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.charset import to_utf8
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.fetch.robots import RobotsFile, fetch_robots
from shoal.fetch.tls_policy import USUAL, TlsPolicy
from shoal.model.options import DEFAULTS
from shoal.spiders.input_sources import read_sources
from shoal.spiders.page import Page
from shoal.spiders.url_lists import bare
from shoal.urls import Params, canonical, origin_of

_WAYS_OUT = {
    FailureKind.ADDRESS_REFUSED: "; --allow-private permits it",
    FailureKind.CERTIFICATE: "; --ca-file trusts another authority, and --insecure any certificate",
    FailureKind.PLAIN_HTTP: "; write http:// before it: without a scheme, https is assumed",
}
NO_URL = "https://example.com/"
"""The base URL for links of a saved page if the user gives none."""


class PageUnavailable(ShoalError):
    """There was no response, or it was not a page."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How to fetch the page. Headers, cookies and credentials are sent to the first URL's origin only."""

    agent: str
    allow_private: bool = False
    robots: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
    cookie_file: str = ""
    """Its text; each cookie goes where it belongs."""
    proxy: str = ""
    remote_dns: bool = False
    """The proxy looks names up, and nobody here does."""
    timeout: float = DEFAULTS["timeout"]
    max_page_bytes: int = DEFAULTS["max_page_bytes"]
    tls: TlsPolicy = USUAL


def fetch_page(spelt: str, options: FetchOptions) -> Page:
    """Returns any final response as a page, with its status. Raises PageUnavailable, and InvalidURL without secrets."""
    url, credentials = _as_given(spelt)
    return asyncio.run(_fetch(url, credentials, options))


def open_page(path: str, url: str = NO_URL) -> Page:
    """Opens a saved page; `url` is where it was saved from."""
    try:
        body = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the page {path}: {error.strerror}") from error
    content_type = "application/json" if path.lower().endswith(".json") else "text/html"
    return Page(url, body, content_type=content_type, html=to_utf8(body, content_type))


def _as_given(spelt: str) -> tuple[str, str]:
    """The canonical URL and `user:password`, read like a line of a list."""
    if bare(spelt)[:1] in ("", "#"):
        raise InvalidURL(spelt, "malformed")
    line = io.BytesIO(spelt.encode("utf-8", "surrogateescape"))
    sources = read_sources(["-"], Params(), "host", None, line)
    given = next(sources.inputs)
    if given.target is None:
        raise InvalidURL(given.spelt, given.reason or "malformed")
    return given.target.url, next(iter(sources.credentials.values()), "")


async def _fetch(url: str, credentials: str, options: FetchOptions) -> Page:
    fetcher = Fetcher(options.agent, AddressGuard(options.allow_private), tls=options.tls)
    visit = _Visit(fetcher, options, origin_of(url), credentials)
    try:
        for _ in range(MAX_HOPS + 1):
            answer = await visit.fetch(url)
            if answer.location is None:
                return _page(url, answer)
            url = _next_hop(url, answer.location)
    finally:
        await fetcher.aclose()
    raise PageUnavailable(f"more than {MAX_HOPS} redirects in a row, the last to {url}")


def _next_hop(url: str, location: str) -> str:
    try:
        return canonical(location)
    except InvalidURL as error:
        raise PageUnavailable(f"{url} redirects to a URL that cannot be fetched: {error.reason}") from None


class _Visit:
    """The requests that lead to the one page."""

    def __init__(self, fetcher: Fetcher, options: FetchOptions, home: str, credentials: str) -> None:
        self._fetcher = fetcher
        self._options = options
        self._home = home
        self._credentials = credentials
        self._robots: dict[str, RobotsFile] = {}
        self._jar = CookieJar()
        self._jar.add_lines(options.cookie_file.splitlines())
        for cookie in options.cookies:
            self._jar.add(home + "/", cookie)

    async def fetch(self, url: str) -> Exchange:
        at_home = origin_of(url) == self._home
        credentials = self._credentials if at_home else ""
        headers = self._options.headers if at_home else {}
        if self._options.robots:
            await self._check_robots(url, credentials, headers)
        options = self._options
        call = Fetch(
            url,
            headers=headers,
            jar=self._jar,
            proxy=options.proxy,
            remote_dns=options.remote_dns,
            credentials=credentials,
            max_bytes=options.max_page_bytes,
            deadline_s=options.timeout,
            # A proxy may close the connection of robots.txt at this moment, and nobody repeats the request.
            alone=True,
        )
        answer = await self._fetcher.fetch(call)
        if isinstance(answer, Failure):
            raise PageUnavailable(f"cannot fetch {url}: {answer.detail}{_way_out(answer)}")
        return answer

    async def _check_robots(self, url: str, credentials: str, headers: Mapping[str, str]) -> None:
        origin = origin_of(url)
        robots = self._robots.get(origin)
        if robots is None:
            options = self._options
            robots = await fetch_robots(
                self._fetcher, origin, options.proxy, credentials, headers, options.timeout, options.remote_dns
            )
            self._robots[origin] = robots
        if robots.unavailable_reason:
            way_out = _way_out(robots.failure) if robots.failure else ""
            raise PageUnavailable(f"did not fetch {url}: {failure_of(robots)[2]}{way_out}")
        if not robots.rules.allows(url):
            raise PageUnavailable(f"robots.txt refuses {url}; --ignore-robots overrides it, if you have permission")


def _way_out(failure: Failure) -> str:
    return _WAYS_OUT.get(failure.kind, "")


def _page(url: str, answer: Exchange) -> Page:
    header = answer.headers.get("content-type")
    content_type = header.partition(";")[0].strip().lower()
    is_text = content_type.startswith("text/") or "xml" in content_type or "json" in content_type
    return Page(
        url=url,
        body=answer.body,
        status=answer.status,
        content_type=content_type,
        headers={name.lower(): value for name, value in answer.headers},
        html=to_utf8(answer.body, header) if is_text else b"",
    )
