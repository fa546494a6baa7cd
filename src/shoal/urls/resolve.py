"""From the raw hrefs of a page to targets and skips, with a memory for links met before.

Most links of a site stand on most of its pages, so a link is kept under its href as it is spelt, apart for
each origin or directory that it hangs on. Only the first meeting pays for parsing, scope and trap checks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import filterfalse, repeat
from typing import NamedTuple, cast

from shoal.errors import InvalidURL
from shoal.model import Target
from shoal.urls.canonical import Params, canonical
from shoal.urls.document import ANYWHERE, Document
from shoal.urls.identity import fingerprint, fingerprints, host_of
from shoal.urls.scope import Scope
from shoal.urls.traps import PREFIX, RULES, SAMPLES, Trap, Traps
from shoal.urls.traps.shapes import MAX_CHARS


@dataclass(slots=True, eq=False)
class Link:
    """What an href comes to. One is equal only to itself, so that they are told apart without comparing."""

    url: str | None = None
    """Canonical; None: it leads nowhere."""
    target: Target | None = None
    """If it is wanted."""
    skip: str | None = None
    """Why it is not."""
    href: str = ""
    offered_there: set[str] | None = None
    """The hrefs of offered links at the place where it is remembered, if it is."""
    is_offered: bool = False
    """The frontier has it, and need not be told again."""


@dataclass(slots=True)
class PageLinks:
    """What the links of one page come to."""

    links: list[Link]
    """One for each href that was looked at, in their order."""
    fresh: list[Link]
    """Those of them that are wanted, and that the frontier has not been told of. `note_offered` when it is."""
    skipped: dict[str, int]
    """Occurrences by reason: `off_scope`, `excluded`, `trap:` and a rule, `malformed`, `not_http`, `too_long`."""
    trapped: dict[str, list[str]]
    """By reason, the first few URLs that are traps."""

    @property
    def urls(self) -> list[str]:
        """Every distinct http(s) URL linked, canonical, whether in scope or not."""
        urls = dict.fromkeys([link.url for link in self.links])
        urls.pop(None, None)
        return cast(list[str], list(urls))

    @property
    def targets(self) -> list[Target]:
        return targets_of(self.links)


def targets_of(links: Iterable[Link]) -> list[Target]:
    """Distinct, in scope, in page order."""
    return list({target.url: target for link in links if (target := link.target)}.values())


def note_offered(links: Iterable[Link]) -> None:
    """The frontier has been told of them."""
    for link in links:
        link.is_offered = True
        if link.offered_there is not None:
            link.offered_there.add(link.href)


_NO_LINK = Link()
_TRAPS = frozenset(PREFIX + rule for rule in RULES)


class _Site(NamedTuple):
    origin: str
    host: str
    whole: bool
    """Every URL there is in scope."""


_NO_SITE = _Site("", "", False)
PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}+){1,9}+/?")
"""Neither dot segments, escapes, session ids nor anything else that canonical form changes, and not too long."""


class Resolver:
    """Resolves the links of one job. At most about `capacity` links are remembered."""

    def __init__(self, scope: Scope, traps: Traps, params: Params, group: str, capacity: int = 50_000) -> None:
        self._scope = scope
        self._traps = traps
        self._params = params
        self._group = group
        self._memory = _Memory(capacity)
        self._last_site = _NO_SITE
        self._width = scope.width

    def resolve(self, url: str, hrefs: Sequence[str], base: str | None = None, *, only_new: bool = False) -> PageLinks:
        """`url` is canonical; any href at all is a link, a skip or nothing.

        `base` is the page's own <base href>, ignored where it is not one. With `only_new` those that the frontier is
        known to have are passed over.
        """
        against = self._base(url, base) if base else url
        page = Document(against, is_page=against == url)
        if self._scope.width != self._width:
            self._begin_anew()
        site = self._site(page.origin)
        self._memory.make_room()
        if only_new:
            hrefs = self._memory.without_offered((page.origin, page.directory, ANYWHERE), hrefs)
        on_site, in_directory = self._memory.of(page.origin), self._memory.of(page.directory)
        anywhere = self._memory.of(ANYWHERE)
        # The first look at all hrefs takes no step in Python: on most pages it finds every one.
        met = list(map(on_site.get, hrefs))
        if None in met and site is not None:
            self._meet_plain(site, [href for href, link in zip(hrefs, met, strict=True) if link is None])
            met = list(map(on_site.get, hrefs))
        if None in met:
            met = [
                # The site again: a page may have a link twice, and the first of them is known by now.
                link or on_site.get(href) or in_directory.get(href) or anywhere.get(href) or self._recall(page, href)
                for link, href in zip(met, hrefs, strict=True)
            ]
        found = cast(list[Link], met)
        unoffered = [link for link in found if not link.is_offered]
        fresh = list(dict.fromkeys([link for link in unoffered if link.target]))
        refused = [link for link in unoffered if link.skip]
        if not refused:
            return PageLinks(found, fresh, {}, {})
        return PageLinks(found, fresh, dict(Counter(link.skip for link in refused if link.skip)), _samples(refused))

    def refusal(self, url: str) -> str | None:
        """None, or why a canonical URL is not followed: as of the scope, or `trap:` and the rule it breaks."""
        reason = self._scope.refusal(url)
        if reason is None and (trap := self.trap(url)):
            return trap.reason
        return reason

    def trap(self, url: str) -> Trap | None:
        """What was given to the job is none, whatever it looks like."""
        trap = self._traps.of(url)
        return None if trap and self._scope.is_seed(url) else trap

    def _begin_anew(self) -> None:
        """Of what was out of scope, some may be in it now."""
        self._memory.clear()
        self._last_site = _NO_SITE
        self._width = self._scope.width

    def _base(self, url: str, base: str) -> str:
        absolute = Document(url).absolute(base)
        try:
            return canonical(absolute[0], self._params) if absolute else url
        except InvalidURL:
            return url

    def _site(self, origin: str) -> _Site | None:
        """None where the scope has to be asked for every link."""
        if origin != self._last_site.origin:
            whole = self._scope.takes_all_of(origin)
            self._last_site = _Site(origin, host_of(origin + "/", self._group), whole)
        return self._last_site if self._last_site.whole else None

    def _meet_plain(self, site: _Site, hrefs: Sequence[str]) -> None:
        """Judges, all at once, the paths that every parser reads as they stand: a fifth of the work."""
        plain = [href for href in hrefs[: self._memory.room] if PLAIN_PATH.fullmatch(href)]
        urls = [site.origin + path for path in plain]
        targets = map(Target, urls, fingerprints(urls), repeat(site.host))
        offered = repeat(self._memory.offered_at(site.origin))
        links = dict(zip(plain, map(Link, urls, targets, repeat(None), plain, offered), strict=True))
        for url, trap in self._traps.of_plain(urls).items():
            if not self._scope.is_seed(url):
                links[url.removeprefix(site.origin)] = Link(url, skip=trap.reason)
        self._memory.put_all(site.origin, links)

    def _recall(self, page: Document, href: str) -> Link:
        absolute = page.absolute(href)
        if absolute is None:
            return _NO_LINK
        spelling, place = absolute
        # A link that hangs on the whole base (`?page=2`) is known by its absolute spelling.
        key = spelling if place is None else href
        place = page.origin if place is None else place
        known = self._memory.of(place).get(key)
        if known is not None:
            return known
        link = self._judge(spelling)
        self._memory.put(place, key, link)
        return link

    def _judge(self, spelling: str) -> Link:
        try:
            url = canonical(spelling, self._params)
        except InvalidURL as error:
            return Link(skip=self._reason(error))
        refusal = self.refusal(url)
        if refusal is not None:
            return Link(url, skip=refusal)
        return Link(url, Target(url, fingerprint(url), host_of(url, self._group)))

    def _reason(self, error: InvalidURL) -> str:
        # Where length is allowed, what is longer than any URL may be is still no link.
        too_long = error.reason == "too_long" and "length" not in self._traps.allowed
        return f"{PREFIX}length" if too_long else error.reason


def _samples(refused: Iterable[Link]) -> dict[str, list[str]]:
    samples: dict[str, list[str]] = {}
    for link in refused:
        if link.skip in _TRAPS and link.url is not None:
            add_sample(samples.setdefault(link.skip, []), link.url)
    return samples


def add_sample(samples: list[str], url: str) -> None:
    if len(samples) < SAMPLES and url not in samples:
        samples.append(url)


class _Memory:
    """Links by place and href; a place is the part of a base that the meaning of the href hangs on.

    When it is full it begins anew: to judge the links of a menu once more costs less than to keep account of which are
    met often. It does so only between pages, because a page holds on to its tables. Hrefs of links that are known to be
    offered are kept a second time, by themselves: most hrefs of a page are among them, and need no look at their link.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.clear()

    def clear(self) -> None:
        self._tables: dict[str, dict[str, Link]] = {}
        self._offered: dict[str, set[str]] = {}
        self._held = 0

    def make_room(self) -> None:
        if not self.room:
            self.clear()

    def of(self, place: str) -> dict[str, Link]:
        table = self._tables.get(place)
        if table is None:
            table = self._tables[place] = {}
            self._held += 1
        return table

    def without_offered(self, places: Iterable[str], hrefs: Sequence[str]) -> Sequence[str]:
        for place in places:
            if offered := self._offered.get(place):
                hrefs = list(filterfalse(offered.__contains__, hrefs))
        return hrefs

    def offered_at(self, place: str) -> set[str]:
        return self._offered.setdefault(place, set())

    @property
    def room(self) -> int:
        return max(0, self._capacity - self._held)

    def put(self, place: str, href: str, link: Link) -> None:
        # What is longer than any link we take (a picture in a data: URL) is not worth its memory.
        if self.room and len(href) <= MAX_CHARS:
            link.href, link.offered_there = href, self.offered_at(place)
            self.put_all(place, {href: link})

    def put_all(self, place: str, links: dict[str, Link]) -> None:
        """No more than there is room for."""
        self._tables[place].update(links)
        self._held += len(links)
