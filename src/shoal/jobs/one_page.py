"""One page, fetched or opened here and now, for commands that only look: no home, no job, nothing kept.

It is fetched as a crawl would: guarded, robots.txt asked for at every origin, redirects followed hop by hop.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shoal.engine.permission import failure_of
from shoal.engine.policy import MAX_HOPS
from shoal.errors import InvalidURL, ShoalError, UsageError
from shoal.fetch.charset import to_utf8
from shoal.fetch.cookies import Jar
from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.guard import Guard
from shoal.fetch.robots import RobotsFile, fetch_robots
from shoal.fetch.transfer import Fetch
from shoal.spiders.lists import bare
from shoal.spiders.page import Page
from shoal.spiders.sources import read_sources
from shoal.urls import Params, canonical, origin_of

NO_URL = "https://example.com/"
"""What the links of a saved page are relative to if nobody says."""


class NoPage(ShoalError):
    """There was an answer that is no page, or none at all."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Manners:
    """How the one page is asked for; headers, cookies and credentials go to where it begins and nowhere else."""

    agent: str
    allow_private: bool = False
    robots: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: tuple[str, ...] = ()
    proxy: str = ""


def fetch_page(spelt: str, manners: Manners) -> Page:
    """Any final answer is a page, with its status. Raises NoPage, and InvalidURL without the password."""
    url, credentials = _as_given(spelt)
    return asyncio.run(_fetched(url, credentials, manners))


def open_page(path: str, url: str = NO_URL) -> Page:
    """A saved page; `url` is where it was saved from."""
    try:
        body = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"the page {path} cannot be read: {error.strerror}") from error
    content_type = "application/json" if path.lower().endswith(".json") else "text/html"
    return Page(url, body, content_type=content_type, html=to_utf8(body, content_type))


def _as_given(spelt: str) -> tuple[str, str]:
    """The canonical URL and `user:password`, read as a list of one line is."""
    if bare(spelt)[:1] in ("", "#"):
        raise InvalidURL(spelt, "malformed")
    line = io.BytesIO(spelt.encode("utf-8", "surrogateescape"))
    sources = read_sources(["-"], Params(), "host", None, line)
    given = next(sources.inputs)
    if given.target is None:
        raise InvalidURL(given.spelt, given.reason or "malformed")
    return given.target.url, next(iter(sources.credentials.values()), "")


async def _fetched(url: str, credentials: str, manners: Manners) -> Page:
    fetcher = Fetcher(manners.agent, Guard(manners.allow_private))
    visit = _Visit(fetcher, manners, origin_of(url), credentials)
    try:
        for _ in range(MAX_HOPS + 1):
            answer = await visit.ask(url)
            if answer.location is None:
                return _page(url, answer)
            url = _next_hop(url, answer.location)
    finally:
        await fetcher.aclose()
    raise NoPage(f"more than {MAX_HOPS} redirects in a row, the last to {url}")


def _next_hop(url: str, location: str) -> str:
    try:
        return canonical(location)
    except InvalidURL as error:
        raise NoPage(f"{url} redirects to what cannot be fetched: {error.reason}") from None


class _Visit:
    """The requests that lead to the one page."""

    def __init__(self, fetcher: Fetcher, manners: Manners, home: str, credentials: str) -> None:
        self._fetcher = fetcher
        self._manners = manners
        self._home = home
        self._credentials = credentials
        self._robots: dict[str, RobotsFile] = {}
        self._jar = Jar()
        for cookie in manners.cookies:
            self._jar.add(home + "/", cookie)

    async def ask(self, url: str) -> Exchange:
        at_home = origin_of(url) == self._home
        credentials = self._credentials if at_home else ""
        headers = self._manners.headers if at_home else {}
        if self._manners.robots:
            await self._ask_robots(url, credentials, headers)
        call = Fetch(url, headers=headers, jar=self._jar, proxy=self._manners.proxy, credentials=credentials)
        answer = await self._fetcher.fetch(call)
        if isinstance(answer, Failure):
            raise NoPage(f"{url} could not be fetched: {answer.detail}{_way_out(answer)}")
        return answer

    async def _ask_robots(self, url: str, credentials: str, headers: Mapping[str, str]) -> None:
        origin = origin_of(url)
        robots = self._robots.get(origin)
        if robots is None:
            robots = await fetch_robots(self._fetcher, origin, self._manners.proxy, credentials, headers)
            self._robots[origin] = robots
        if robots.not_now:
            way_out = _way_out(robots.failure) if robots.failure else ""
            raise NoPage(f"{url} was not asked for: {failure_of(robots)[2]}{way_out}")
        if not robots.rules.allows(url):
            raise NoPage(f"robots.txt refuses {url}; --ignore-robots overrides it, if you may")


def _way_out(failure: Failure) -> str:
    return "; --allow-private lets it be asked" if failure.kind == "address_refused" else ""


def _page(url: str, answer: Exchange) -> Page:
    header = answer.headers.get("content-type")
    content_type = header.partition(";")[0].strip().lower()
    spoken = content_type.startswith("text/") or "xml" in content_type or "json" in content_type
    return Page(
        url=url,
        body=answer.body,
        status=answer.status,
        content_type=content_type,
        headers={name.lower(): value for name, value in answer.headers},
        html=to_utf8(answer.body, header) if spoken else b"",
    )
