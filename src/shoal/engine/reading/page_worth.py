"""Decides what a page brought to the crawl, and which shapes of URLs led to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from shoal.engine.shape_statistics import Worth
from shoal.urls.resolve_links import Link
from shoal.urls.url_shapes import MOST_SHAPES, shapes_of

if TYPE_CHECKING:
    from shoal.engine.active_job import ActiveJob
    from shoal.engine.reading.parse_page import ParsedPage
    from shoal.model import Lease, PageRecord

FOUND_BY = "found_by"
"""In the meta of a trail: the shapes of the useless pages that led to the request."""
GONE = frozenset({404, 410})
MOST_CHARS = 100_000
"""The words of longer texts are not compared."""
MOST_TEXTS = 200_000


class SeenTexts:
    """The texts of a job's pages, to recognise one page under several queries. Each process knows those it read."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def has_other(self, url: str, fingerprint: int, text: bytes) -> bool:
        """Whether another URL of the same path has the same words, in whatever order."""
        if len(text) > MOST_CHARS or not text:
            return False
        key = hash((url.partition("?")[0], frozenset(text.split())))
        if key not in self._seen and len(self._seen) >= MOST_TEXTS:
            return False
        return self._seen.setdefault(key, fingerprint) != fingerprint


def worth_of_page(active_job: ActiveJob, record: PageRecord, canonical: Link | None, page: ParsedPage) -> Worth:
    """Of a page that was read as HTML. `canonical` is the link to the URL that it names as its own."""
    if active_job.shapes is None:
        return Worth.UNKNOWN
    if record.noindex and active_job.spec.politeness.robots:
        return Worth.USELESS
    if canonical is not None and canonical.url is not None and canonical.url != record.url:
        return Worth.USELESS if _represents(canonical, record) else Worth.UNKNOWN
    if page.text is not None and _may_have_variants(record.url, page.hrefs):
        is_copy = active_job.seen_texts.has_other(record.url, record.fingerprint, page.text)
        return Worth.USELESS if is_copy else Worth.USEFUL
    return Worth.USEFUL


def _may_have_variants(url: str, hrefs: Iterable[str]) -> bool:
    """Whether the page is one of several queries at its path, or links to them. To compare the words of each page
    would cost 0.1 ms."""
    if "?" in url:
        return True
    return url.rpartition("/")[2] + "?" in "\n".join(hrefs)


def _represents(canonical: Link, record: PageRecord) -> bool:
    """Whether the crawl has the canonical page anyway. Some sites wrongly name their front page on every page."""
    is_front_page = urlsplit(canonical.url or "").path == "/" and urlsplit(record.url).path != "/"
    return canonical.is_offered and canonical.target is not None and not is_front_page


def learn_from_page(active_job: ActiveJob, lease: Lease, worth: Worth) -> list[str]:
    """Returns the shapes that its links were found by: none if the page itself was useful."""
    target, trail = lease.target, lease.trail
    if active_job.shapes is None or trail.callback:
        return []
    found_by = list((trail.meta or {}).get(FOUND_BY, ()))
    if trail.parent is not None:
        active_job.shapes.learn(target.host, target.url, worth, found_by)
    if worth is not Worth.USELESS:
        return []
    return list(dict.fromkeys([*shapes_of(target.url), *found_by]))[: 2 * MOST_SHAPES]
