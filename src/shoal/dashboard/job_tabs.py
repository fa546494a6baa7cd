"""The contents of a job's tabs: errors, items, pages, skipped links and options."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from shoal.dashboard.cursors import cursor_of, position_of
from shoal.dashboard.figures import failed_attempts, failure_hint, failure_sparkline
from shoal.dashboard.login import viewer
from shoal.dashboard.option_form import option_values
from shoal.dashboard.source import Source
from shoal.errors import UsageError
from shoal.jobs.archived_bodies import fingerprint_key
from shoal.jobs.job_quality import job_quality
from shoal.jobs.mask_secrets import without_secrets
from shoal.store.failure_trend import FailureTrend
from shoal.store.jobs import Job
from shoal.store.results.listings import CONTAINS, list_pages_with_content
from shoal.store.results.pagination import GROUPED_BY, Placed, dead_groups, items_after, pages_after
from shoal.store.results.quality import changes
from shoal.urls.traps import RULES, allowing
from shoal.urls.url_shapes import allowing as allowing_shape

TABS = {
    "errors": "Errors",
    "items": "Items",
    "pages": "Pages",
    "skipped": "Skipped",
    "options": "Options",
    "log": "Log",
}
FORMATS = ("jsonl", "csv", "parquet")
ROWS = 50
COLUMNS_SHOWN = 12
GROUPS_SHOWN = 50
LOG_EVENTS = 200
LINKS_SHOWN = 100
TEXT_CHARS = 100_000

Content = Mapping[str, Any]


def tab_content(source: Source, job: Job, tab: str, given: Mapping[str, str]) -> Content:
    return _CONTENTS[tab](source, job, given)


def _errors(source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    groups = dead_groups(source.store, job.id, {}, GROUPED_BY)
    seen = source.overview(job)
    return {
        "attempts": failed_attempts(seen, GROUPS_SHOWN, source.shoal),
        "dead": [_dead_group(job, group, source.shoal) for group in groups[:GROUPS_SHOWN]],
        "more_dead": max(0, len(groups) - GROUPS_SHOWN),
        "more_attempts": max(0, len(seen.failures) - GROUPS_SHOWN),
    }


def _dead_group(job: Job, group: Mapping[str, Any], shoal: str) -> Content:
    trend = failure_sparkline(job, FailureTrend.of_record(group["trend"]))
    return {**group, "trend": trend, "hint": failure_hint(job, group["reason"], group["status"], shoal)}


def _items(source: Source, job: Job, given: Mapping[str, str]) -> Content:
    now, before = job_quality(source.store, job)
    seen = source.overview(job)
    where = {name: given[name] for name in ("type", CONTAINS) if given.get(name)}
    found = items_after(source.store, job.id, where, position_of(given.get("after"), (float, int, int)), ROWS + 1)
    rows = [record for _, record in found[:ROWS]]
    columns = list(dict.fromkeys(name for row in rows for name in row if not name.startswith("_")))
    return {
        "quality": changes(now, before),
        "rows": rows,
        "columns": columns[:COLUMNS_SHOWN],
        "hidden": columns[COLUMNS_SHOWN:],
        "types": list(dict.fromkeys(field.type for field in now)),
        "more": _more(found),
        "where": where,
        "sinks": seen.sinks,
        "no_items": seen.no_items,
        "rejected": seen.stored.rejected,
        "reject_reason": seen.stored.reject_reason,
        "formats": FORMATS,
    }


def _pages(source: Source, job: Job, given: Mapping[str, str]) -> Content:
    where = {name: given[name] for name in ("status", "host", CONTAINS) if given.get(name)}
    found = pages_after(source.store, job.id, where, position_of(given.get("after"), (float, int)), ROWS + 1)
    rows = [record for _, record in found[:ROWS]]
    return {"rows": rows, "more": _more(found), "where": where, "formats": FORMATS}


def _skipped(source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    stored = source.overview(job).stored
    traps = [{"trap": trap, "why": RULES.get(trap.rule, ""), "allow": allowing(trap.rule)} for trap in stored.traps]
    shapes = [{"shape": one, "allow": allowing_shape(one.shape)} for one in stored.shapes]
    return {"skipped": stored.skipped, "dropped": stored.dropped, "traps": traps, "shapes": shapes}


def _options(_source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    return {"options": option_values(without_secrets(job).spec)}


def _log(source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    events = source.logs(viewer(), job, LOG_EVENTS)
    return {"events": None if events is None else events[::-1]}


def page_content(source: Source, job: Job, fingerprint: str) -> Content:
    """A page with its text and its other formats. Raises UsageError if the job has no such page."""
    formats = job.spec.formats
    key = fingerprint_key(fingerprint)
    for row in list_pages_with_content(source.store, job.id, {}, formats, [key]):
        texts = {name: row.pop(name) for name in ("text", *formats)}
        links = row.pop("links") or []
        shown = {name: _cut(value) for name, value in texts.items() if value}
        return {"row": row, "texts": shown, "links": links[:LINKS_SHOWN], "more_links": len(links) - LINKS_SHOWN}
    raise UsageError(f"job {job.id} has no page {fingerprint!r}: the tab Pages lists them")


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2, default=str)
    return text if len(text) <= TEXT_CHARS else f"{text[:TEXT_CHARS]}\n…"


def _more(found: list[Placed]) -> str | None:
    return cursor_of(found[ROWS - 1][0]) if len(found) > ROWS else None


_CONTENTS: dict[str, Callable[[Source, Job, Mapping[str, str]], Content]] = {
    "errors": _errors,
    "items": _items,
    "pages": _pages,
    "skipped": _skipped,
    "options": _options,
    "log": _log,
}
