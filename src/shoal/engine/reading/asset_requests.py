"""The requests for what a page needs to be looked at, and for what its stylesheets and scripts need.

They may lead to any host, because many sites have such files elsewhere. Excluded URLs, robots.txt, rates and guarded
addresses apply as to every request. Nothing is extracted from them.
"""

from __future__ import annotations

import asyncio

from shoal.engine.active_job import ActiveJob
from shoal.engine.reading.file_requests import LAST_LEVEL
from shoal.engine.reading.parse_page import BIG_BYTES
from shoal.engine.request_result import RequestResult, add_skips
from shoal.errors import InvalidURL
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.html_tags import HTML_TYPES, SCRIPT_TYPES
from shoal.extract.url_join import join
from shoal.fetch.charset import to_utf8
from shoal.fetch.exchange import Exchange
from shoal.model import ASSET, Offer, PageRecord, Target, Trail

MOST_BYTES = 1 << 20
"""Larger pages and stylesheets are not read for assets: it would delay all other pages."""
MOST_ASSETS = 1_000
"""Of one page or stylesheet."""
MOST_LEVELS = LAST_LEVEL
"""A page's stylesheet is the first level, one that it imports the second."""


async def offer_assets(active_job: ActiveJob, done: RequestResult, record: PageRecord, answer: Exchange) -> None:
    """Of a page, and of an asset that is a stylesheet or a script."""
    trail = done.lease.trail
    level = (trail.meta or {}).get("level", 1) if trail.is_asset else 0
    if level >= MOST_LEVELS or len(answer.body) > MOST_BYTES:
        return
    if len(answer.body) > BIG_BYTES:
        base_url, links = await asyncio.to_thread(_found, record, answer, level == 0)
    else:
        base_url, links = _found(record, answer, level == 0)
    add_skips(done, {"too_many_assets": len(links[MOST_ASSETS:])})
    targets = [target for link in links[:MOST_ASSETS] if (target := _target(active_job, base_url, link))]
    if targets:
        wanted = Trail(record.depth, max(1, trail.priority), record.fingerprint, ASSET, {"level": level + 1})
        done.offers.append(Offer(record.job, targets, wanted))


def _found(record: PageRecord, answer: Exchange, is_page: bool) -> tuple[str, list[str]]:
    # Imported here: they load a parser that other jobs do not need.
    from shoal.extract.document import Document
    from shoal.extract.page_assets import css_assets, html_assets, script_assets

    if record.content_type == "text/css":
        text = to_utf8(answer.body, answer.headers.get("content-type")).decode(errors="replace")
        return record.url, css_assets(text)
    if not is_page and record.content_type in SCRIPT_TYPES:
        text = to_utf8(answer.body, answer.headers.get("content-type")).decode(errors="replace")
        return record.url, script_assets(text)
    if not is_page or record.content_type not in HTML_TYPES:
        return record.url, []
    try:
        document = Document(to_utf8(answer.body, answer.headers.get("content-type")), record.url)
        base, links = html_assets(document)
        return join(record.url, base) if base else record.url, links
    except (UnparsablePage, ValueError):
        return record.url, []


def _target(active_job: ActiveJob, base_url: str, link: str) -> Target | None:
    try:
        target = active_job.target(join(base_url, link))
    except (InvalidURL, ValueError):
        return None
    return None if active_job.scope.excludes(target.url) else target
