"""From the raw hrefs of a page to targets and skips, with a memory for links met before.

Most links of a site stand on most of its pages, so a verdict is kept under the href as it is spelt, apart for
each origin or directory that it hangs on. Only the first meeting pays for parsing, scope and trap checks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shoal.errors import InvalidURL
from shoal.model import Target
from shoal.urls.canonical import Params, canonical
from shoal.urls.document import Document
from shoal.urls.identity import fingerprint, host_of
from shoal.urls.scope import Scope
from shoal.urls.traps import MAX_CHARS, trap


@dataclass(frozen=True, slots=True)
class PageLinks:
    """What the links of one page come to."""

    targets: list[Target]
    """Distinct, in scope, in page order."""
    skipped: dict[str, int]
    """Occurrences by reason: `off_scope`, `excluded`, `trap`, `malformed`, `not_http`."""
    urls: list[str]
    """Every distinct http(s) URL linked, canonical, whether in scope or not."""


_Verdict = tuple[str | None, Target | None, str | None]
"""Canonical URL, target if it is wanted, reason if it is skipped."""
_NO_LINK: _Verdict = (None, None, None)


class Resolver:
    """Resolves the links of one job. At most about `capacity` verdicts are remembered."""

    def __init__(self, scope: Scope, params: Params, group: str, capacity: int = 50_000) -> None:
        self._scope = scope
        self._params = params
        self._group = group
        self._memory = _Memory(capacity)
        self._width = scope.width

    def resolve(self, url: str, hrefs: Iterable[str], base: str | None = None) -> PageLinks:
        """`url` is canonical; any href at all is a link, a skip or nothing.

        `base` is the page's own <base href>, ignored where it is not one.
        """
        against = self._base(url, base) if base else url
        page = Document(against, is_page=against == url)
        if self._scope.width != self._width:
            self._memory.clear()
            self._width = self._scope.width
        self._memory.make_room()
        on_site, in_directory = self._memory.of(page.origin), self._memory.of(page.directory)
        found: dict[str, Target | None] = {}
        skipped: dict[str, int] = {}
        for href in hrefs:
            link, target, skip = on_site.get(href) or in_directory.get(href) or self._recall(page, href)
            if link is not None:
                found[link] = target
            if skip is not None:
                skipped[skip] = skipped.get(skip, 0) + 1
        return PageLinks([target for target in found.values() if target], skipped, list(found))

    def _base(self, url: str, base: str) -> str:
        absolute = Document(url).absolute(base)
        try:
            return canonical(absolute[0], self._params) if absolute else url
        except InvalidURL:
            return url

    def _recall(self, page: Document, href: str) -> _Verdict:
        absolute = page.absolute(href)
        if absolute is None:
            return _NO_LINK
        spelling, place = absolute
        # A link that hangs on the whole base (`?page=2`) is known by its absolute spelling.
        key = href if place else spelling
        place = place or page.origin
        verdict = self._memory.get(place, key)
        if verdict is None:
            verdict = self._judge(spelling)
            self._memory.put(place, key, verdict)
        return verdict

    def _judge(self, spelling: str) -> _Verdict:
        try:
            url = canonical(spelling, self._params)
        except InvalidURL as error:
            return None, None, "trap" if error.reason == "too_long" else error.reason
        refusal = self._scope.refusal(url)
        if refusal is None and trap(url):
            refusal = "trap"
        if refusal is not None:
            return url, None, refusal
        return url, Target(url, fingerprint(url), host_of(url, self._group)), None


class _Memory:
    """Verdicts by place and href; a place is the part of a base that the meaning of the href hangs on.

    Two generations approximate least-recently-used without touching an entry at every hit. They turn only
    between pages, because a page holds on to its tables.
    """

    def __init__(self, capacity: int) -> None:
        self._generation_size = capacity // 2
        self.clear()

    def clear(self) -> None:
        self._young: dict[str, dict[str, _Verdict]] = {}
        self._old: dict[str, dict[str, _Verdict]] = {}
        self._held = 0

    def make_room(self) -> None:
        if self._held >= self._generation_size:
            self._old, self._young, self._held = self._young, {}, 0

    def of(self, place: str) -> dict[str, _Verdict]:
        table = self._young.get(place)
        if table is None:
            table = self._young[place] = {}
            self._held += 1
        return table

    def get(self, place: str, href: str) -> _Verdict | None:
        verdict = self._young[place].get(href)
        if verdict is None and place in self._old and (verdict := self._old[place].get(href)):
            self.put(place, href, verdict)
        return verdict

    def put(self, place: str, href: str, verdict: _Verdict) -> None:
        # What is longer than any link we take (a picture in a data: URL) is not worth its memory.
        if self._held < self._generation_size and len(href) <= MAX_CHARS:
            self._young[place][href] = verdict
            self._held += 1
