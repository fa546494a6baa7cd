"""Fetches one page now: submits an express job with one URL and waits for it, up to a timeout. Only some requests may
wait at a time."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from typing import Any

from shoal.client.responses.jobs import Scraped, StillScraping
from shoal.control.async_bridge import Bridge, bridge
from shoal.control.auth import requester, require_for
from shoal.control.idempotency import claimed_job_id
from shoal.control.job_figures import job_status_of
from shoal.control.models.scrape import ScrapeOrder
from shoal.control.ownership import owner
from shoal.control.routes import SUBMIT, Reply, Routes
from shoal.control.thread_slots import slot
from shoal.engine.reading.parse_page import BIG_BYTES
from shoal.errors import UnknownJob, UsageError
from shoal.fetch.charset import to_utf8
from shoal.fleet.fleet import Fleet
from shoal.fleet.submit import Submitted, read_request, submit
from shoal.jobs.archived_bodies import archived_body
from shoal.model import JobSpec, Lane, ScopeKind
from shoal.store.crawl.input_report import input_report
from shoal.store.jobs import load_job
from shoal.store.results.listings import list_pages_with_content
from shoal.store.results.pagination import items_after

routes = Routes("scrape")
RETRIES = 1
LOOK_EVERY_S = (0.05, 0.25)
ITEMS = 1_000
_MADE = ("markdown", "page_markdown", "metadata")
"""Formats that the worker makes on request; text and links are stored for every page."""


@routes.post("/scrape", SUBMIT, answers={200: Scraped, 202: StillScraping}, body=ScrapeOrder, counted=True, keyed=True)
def scrape(body: ScrapeOrder) -> Reply:
    """Fetch one page now, in the express lane.

    The answer comes when the page has an outcome; robots.txt and rates are obeyed. If that takes longer than timeout_s,
    or too many requests wait already, the answer is 202 with the job's id. The job is kept like any other.
    """
    until = time.monotonic() + body.timeout_s
    formats = body.formats if body.formats is not None else () if body.rules else ("text",)
    require_for({}, body.rules)
    id = claimed_job_id()
    if id is None or not _exists(id):
        id = bridge().run_apart(lambda fleet: _submit(fleet, body, formats, id)).id
    end = _awaited(id, until)
    if end is None:
        status = job_status_of(load_job(bridge().store, id))
        return {"id": id, "state": status.state, "limiting": status.limiting}, 202
    return _scraped(bridge(), id, end, formats, with_items=body.rules is not None)


def _exists(id: str) -> bool:
    """Whether a process that died before it could answer has created the job."""
    try:
        load_job(bridge().store, id)
    except UnknownJob:
        return False
    return True


async def _submit(fleet: Fleet, body: ScrapeOrder, formats: tuple[str, ...], id: str | None) -> Submitted:
    options = {
        "scope": ScopeKind.LISTED,
        "lane": Lane.EXPRESS,
        "retries": RETRIES,
        "no_archive": "html" not in formats,
        **body.rendering_options(),
    }
    # Replaces the start URLs of the rules.
    rules = None if body.rules is None else {**body.rules, "start": [body.url]}
    urls = [] if rules else [body.url]
    sources, spec_once_read = read_request(fleet.settings, urls, rules, None, options, requester())
    made = tuple(name for name in formats if name in _MADE)
    with_text = bool(set(formats) - {"html"})

    def spec() -> JobSpec:
        return replace(spec_once_read(), formats=made, text_beside_items=with_text)

    return await submit(fleet, sources, spec, id, owner())


def _awaited(id: str, until: float) -> dict[str, Any] | None:
    """The outcome of the URL; None if it has none yet, or no request may wait now."""
    with slot() as may_wait:
        if not may_wait:
            return None
        wait_s = LOOK_EVERY_S[0]
        while (end := _end(id)) is None and (left_s := until - time.monotonic()) > 0:
            time.sleep(min(wait_s, left_s))
            wait_s = min(wait_s * 1.5, LOOK_EVERY_S[1])
        return end


def _end(id: str) -> dict[str, Any] | None:
    with closing(input_report(bridge().store, id)) as ends:
        # Only the first: URLs may have been appended.
        end = next(ends, None)
    if end is None:
        raise UnknownJob(f"job {id} was removed before its page had an outcome")
    return None if end["outcome"] == "queued" else end


def _scraped(over: Bridge, id: str, end: dict[str, Any], formats: tuple[str, ...], with_items: bool) -> dict[str, Any]:
    made = [name for name in formats if name in _MADE]
    pages = list_pages_with_content(over.store, id, {}, [*made, "missing"])
    page = next((page for page in pages if page["url"] == end["final_url"]), {})
    shown: dict[str, Any] = dict.fromkeys(("html", "text", "markdown", "page_markdown", "links", "metadata"))
    missing: dict[str, str] = {}
    shown |= {name: page.get(name) for name in formats if name != "html"}
    if page and "html" in formats:
        shown["html"] = _html(over, id, page, missing)
    missing |= {name: _why(name, page, end) for name in formats if shown[name] is None and name not in missing}
    items = [item for _, item in items_after(over.store, id, {}, None, ITEMS)] if with_items else None
    outcome = {name: end[name] for name in ("url", "final_url", "status", "outcome", "reason")}
    about = {name: page.get(name) for name in ("content_type", "title")}
    return {"id": id, **outcome, **about, **shown, "items": items, "missing": missing}


def _html(over: Bridge, id: str, page: dict[str, Any], missing: dict[str, str]) -> str | None:
    try:
        with over.apart() as fleet:
            kept = archived_body(fleet, id, page["fingerprint"])
    except UsageError as error:
        # The body may be on another machine until its segment is sealed.
        missing["html"] = str(error)
        return None
    content_type = kept.headers.get("content-type")
    is_text = any(kind in content_type for kind in ("text/", "xml", "json"))
    return to_utf8(kept.body, content_type).decode("utf-8", "replace") if is_text else None


def _why(format: str, page: dict[str, Any], end: dict[str, Any]) -> str:
    if not page:
        return f"there is no page: {end['outcome']}{', ' + end['reason'] if end['reason'] else ''}"
    if not 200 <= page["status"] < 300:
        return f"the server answered {page['status']}"
    if format in (page.get("missing") or {}):
        return str(page["missing"][format])
    if page["bytes"] > BIG_BYTES:
        return f"with rules it is made only for pages up to {BIG_BYTES >> 10} KB"
    return f"a page of type {page['content_type'] or 'unknown'} has none, or the page asks not to be stored"
