"""Resolves the hrefs of a page into targets and skipped links, with a cache of known links.

Most links of a site are on most of its pages. So a link is cached by its href as written, separately for each origin or
directory on which it depends. Only the first occurrence needs parsing, scope and trap checks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple, cast

from shoal.errors import InvalidURL
from shoal.model import Target
from shoal.urls.absolute_hrefs import ANYWHERE, BARE_FRAGMENT, AbsoluteHrefs, without_fragment
from shoal.urls.canonical import Params, canonical
from shoal.urls.file_types import FILE_TYPES, FileTypes
from shoal.urls.file_types import PREFIX as TYPE_PREFIX
from shoal.urls.fingerprint import fingerprint, fingerprints, host_of
from shoal.urls.link_cache import LinkCache
from shoal.urls.logout_links import REASON as LOGOUT
from shoal.urls.logout_links import is_logout
from shoal.urls.scope import Scope
from shoal.urls.traps import PREFIX, RULES, SAMPLES, Trap, Traps


@dataclass(slots=True, eq=False)
class Link:
    """The result for an href. A link equals only itself, so that sets and lookups need no comparison of fields."""

    url: str | None = None
    """Canonical; None: it is not a URL."""
    target: Target | None = None
    """Set if the link is followed."""
    skip: str | None = None
    """Why the link is not followed."""
    href: str = ""
    offered_hrefs: set[str] | None = None
    """If it is cached: the hrefs of offered links in the same part of the cache."""
    is_offered: bool = False
    """The frontier has it, so it need not be offered again."""


@dataclass(slots=True)
class PageLinks:
    """The links of one page."""

    links: list[Link]
    """One for each distinct href that was resolved, in their order."""
    fresh: list[Link]
    """Links to follow that the frontier has not been offered. Call `note_offered` when it has."""
    skipped: dict[str, int]
    """Reason -> occurrences: those of `Resolver.refusal`, and `malformed`, `not_http`, `too_long`."""
    trapped: dict[str, list[str]]
    """Reason -> the first few URLs that are traps, or of a type that is not fetched."""

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
    """Distinct targets in scope, in page order."""
    return list({target.url: target for link in links if (target := link.target)}.values())


def note_offered(links: Iterable[Link]) -> None:
    """Marks links that the frontier has been offered."""
    for link in links:
        link.is_offered = True
        if link.offered_hrefs is not None:
            link.offered_hrefs.add(link.href)


_NO_LINK = Link()
_SAMPLED = frozenset((*(PREFIX + rule for rule in RULES), *(TYPE_PREFIX + name for name in FILE_TYPES)))
"""Reasons of which the first few URLs are kept."""


class _Site(NamedTuple):
    origin: str
    host: str
    all_in_scope: bool
    """Every URL there is in scope."""


_NO_SITE = _Site("", "", False)
_PART = r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}+"
PLAIN_PATH = re.compile(rf"(?:/{_PART}){{1,9}}+/?")
"""A path without dot segments, escapes, session ids or anything else that the canonical form changes, and not too long.
"""
PLAIN_NAME = re.compile(rf"{_PART}(?:/{_PART}){{0,8}}+/?")
"""The same, relative to a directory."""


class Resolver:
    """Resolves the links of one job. It caches at most about `capacity` links."""

    def __init__(
        self,
        scope: Scope,
        traps: Traps,
        params: Params,
        group: str,
        capacity: int = 12_000,
        types: FileTypes | None = None,
        *,
        stays_logged_in: bool = False,
    ) -> None:
        """With `stays_logged_in` it skips links that log out."""
        self._stays_logged_in = stays_logged_in
        self._scope = scope
        self._traps = traps
        self._types = types or FileTypes(has_spider=True)
        self._params = params
        self._group = group
        self._cache = LinkCache(capacity)
        self._last_site = _NO_SITE
        self._version = scope.version

    def resolve(self, url: str, hrefs: Sequence[str], base: str | None = None, *, only_new: bool = False) -> PageLinks:
        """`url` is canonical. Every href becomes a link or a skip, or is ignored.

        `base` is the page's own <base href>; an invalid one is ignored. With `only_new`, links that the frontier is
        known to have are left out.
        """
        against = self._base(url, base) if base else url
        page = AbsoluteHrefs(against, is_page=against == url)
        if self._scope.version != self._version:
            self._clear_cache()
        site = self._site(page.origin)
        self._cache.make_room()
        if only_new:
            hrefs = self._cache.without_offered((page.origin, page.directory, ANYWHERE), hrefs)
        distinct = dict.fromkeys(hrefs)
        if against == url:
            # It leads to the page itself, and a manual has hundreds.
            distinct.pop(BARE_FRAGMENT, None)
        on_site, in_directory = self._cache.of(page.origin), self._cache.of(page.directory)
        anywhere = self._cache.of(ANYWHERE)
        # The first lookup of all hrefs runs without Python steps. On most pages it finds every one.
        met = list(map(on_site.get, distinct))
        if None in met and site is not None:
            unmet = [href for href, link in zip(distinct, met, strict=True) if link is None]
            self._add_new(site, page, [href for href in unmet if href not in in_directory and href not in anywhere])
            met = list(map(on_site.get, distinct))
        if None in met:
            met = [
                link or in_directory.get(href) or anywhere.get(href) or self._recall(page, href)
                for link, href in zip(met, distinct, strict=True)
            ]
        found = cast(list[Link], met)
        unoffered = [link for link in found if not link.is_offered]
        fresh = list(dict.fromkeys([link for link in unoffered if link.target]))
        refused = [link for link in unoffered if link.skip]
        if not refused:
            return PageLinks(found, fresh, {}, {})
        return PageLinks(found, fresh, _skipped(zip(distinct, found, strict=True), hrefs), _samples(refused))

    def link(self, url: str, href: str, base: str | None = None) -> Link:
        """An href on a page, usually one that is cached."""
        if href == url:
            return Link(url)
        links = self.resolve(url, [href], base).links
        return links[0] if links else _NO_LINK

    def refusal(self, url: str) -> str | None:
        """Why a canonical URL is not followed: a scope's reason, `logout`, `trap:` and a rule, or `file_type:` and a
        type. None: it is followed."""
        reason = self._scope.refusal(url) or self.logout(url)
        if reason is not None:
            return reason
        if trap := self.trap(url):
            return trap.reason
        return self.unwanted_type(url)

    def logout(self, url: str) -> str | None:
        """`logout` for a link that would end the job's session. A seed is fetched, whatever it does."""
        return LOGOUT if self._stays_logged_in and is_logout(url) and not self._scope.is_seed(url) else None

    def trap(self, url: str) -> Trap | None:
        """A seed is never a trap, whatever it looks like."""
        trap = self._traps.of(url)
        return None if trap and self._scope.is_seed(url) else trap

    def unwanted_type(self, url: str) -> str | None:
        """`file_type:` and the type of a URL by its ending, if the job does not fetch it. A seed is fetched."""
        name = self._types.refused_by_url(url)
        return None if name is None or self._scope.is_seed(url) else TYPE_PREFIX + name

    def _clear_cache(self) -> None:
        """Links that were out of scope may be in scope now."""
        self._cache.clear()
        self._last_site = _NO_SITE
        self._version = self._scope.version

    def _base(self, url: str, base: str) -> str:
        absolute = AbsoluteHrefs(url).absolute(base)
        try:
            return canonical(absolute[0], self._params) if absolute else url
        except InvalidURL:
            return url

    def _site(self, origin: str) -> _Site | None:
        """None if the scope must be checked for every link."""
        if origin != self._last_site.origin:
            all_in_scope = self._scope.covers_origin(origin)
            self._last_site = _Site(origin, host_of(origin + "/", self._group), all_in_scope)
        return self._last_site if self._last_site.all_in_scope else None

    def _add_new(self, site: _Site, page: AbsoluteHrefs, hrefs: Sequence[str]) -> None:
        """Resolves all links to the site together that need no parsing, at a fifth of the cost."""
        self._add_plain(site, page.origin, [href for href in hrefs if PLAIN_PATH.fullmatch(href)])
        if page.has_plain_directory:
            self._add_plain(site, page.directory, [href for href in hrefs if PLAIN_NAME.fullmatch(href)])
        path_at, absolute = len(page.origin), [href for href in hrefs if href.startswith(page.origin)]
        self._add_plain(site, ANYWHERE, [href for href in absolute if PLAIN_PATH.fullmatch(href, path_at)])

    def _add_plain(self, site: _Site, place: str, hrefs: Sequence[str]) -> None:
        """The URL of each is `place` and the href."""
        plain = hrefs[: self._cache.room]
        if not plain:
            return
        urls = [place + href for href in plain]
        targets = map(Target, urls, fingerprints(urls), repeat(site.host))
        offered = repeat(self._cache.offered_at(place))
        links = dict(zip(plain, map(Link, urls, targets, repeat(None), plain, offered), strict=True))
        for url, trap in self._traps.of_plain(urls).items():
            if not self._scope.is_seed(url):
                links[url.removeprefix(place)] = Link(url, skip=trap.reason)
        for href in [href for href in plain if "." in href]:
            if links[href].target and (reason := self.unwanted_type(place + href)):
                links[href] = Link(place + href, skip=reason)
        if self._stays_logged_in:
            links |= {href: Link(url, skip=LOGOUT) for href, url in zip(plain, urls, strict=True) if self.logout(url)}
        self._cache.put_all(place, links)

    def _recall(self, page: AbsoluteHrefs, href: str) -> Link:
        href = without_fragment(href)
        absolute = page.absolute(href)
        if absolute is None:
            return _NO_LINK
        spelling, place = absolute
        # A link that depends on the full base (`?page=2`) is cached by its absolute URL.
        key = spelling if place is None else href
        place = page.origin if place is None else place
        known = self._cache.of(place).get(key)
        if known is not None:
            return known
        link = self._judge(spelling)
        self._cache.put(place, key, link)
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
        # Even if long URLs are allowed, one beyond the maximum is not a link.
        too_long = error.reason == "too_long" and "length" not in self._traps.allowed
        return f"{PREFIX}length" if too_long else error.reason


def _skipped(links: Iterable[tuple[str, Link]], hrefs: Sequence[str]) -> dict[str, int]:
    """Reason -> how often its links occur among the hrefs."""
    times = Counter(hrefs)
    skipped: Counter[str] = Counter()
    for href, link in links:
        if link.skip and not link.is_offered:
            skipped[link.skip] += times[href]
    return dict(skipped)


def _samples(refused: Iterable[Link]) -> dict[str, list[str]]:
    samples: dict[str, list[str]] = {}
    for link in refused:
        if link.skip in _SAMPLED and link.url is not None:
            add_sample(samples.setdefault(link.skip, []), link.url)
    return samples


def add_sample(samples: list[str], url: str) -> None:
    if len(samples) < SAMPLES and url not in samples:
        samples.append(url)
