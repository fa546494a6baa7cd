"""The contents of a job's tabs: errors, items, pages, skipped links and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.dashboard.cursors import cursor_of, position_of
from shoal.dashboard.figures import failed_attempts
from shoal.dashboard.option_form import option_values
from shoal.dashboard.source import Source
from shoal.jobs.job_quality import job_quality
from shoal.jobs.mask_secrets import without_secrets
from shoal.store.jobs import Job
from shoal.store.results.pagination import GROUPED_BY, Placed, dead_groups, items_after, pages_after
from shoal.store.results.quality import changes
from shoal.urls.traps import allowing
from shoal.urls.url_shapes import allowing as allowing_shape

TABS = {"errors": "Errors", "items": "Items", "pages": "Pages", "skipped": "Skipped", "options": "Options"}
ROWS = 50
COLUMNS_SHOWN = 12

Content = Mapping[str, Any]


def tab_content(source: Source, job: Job, tab: str, given: Mapping[str, str]) -> Content:
    return _CONTENTS[tab](source, job, given)


def _errors(source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    attempts = failed_attempts(source.overview(job))
    return {"attempts": attempts, "dead": dead_groups(source.store, job.id, {}, GROUPED_BY)}


def _items(source: Source, job: Job, given: Mapping[str, str]) -> Content:
    now, before = job_quality(source.store, job)
    where = {"type": given["type"]} if given.get("type") else {}
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
    }


def _pages(source: Source, job: Job, given: Mapping[str, str]) -> Content:
    where = {name: given[name] for name in ("status", "host") if given.get(name)}
    found = pages_after(source.store, job.id, where, position_of(given.get("after"), (float, int)), ROWS + 1)
    return {"rows": [record for _, record in found[:ROWS]], "more": _more(found), "where": where}


def _skipped(source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    stored = source.overview(job).stored
    traps = [{"trap": trap, "allow": allowing(trap.rule)} for trap in stored.traps]
    shapes = [{"shape": one, "allow": allowing_shape(one.shape)} for one in stored.shapes]
    return {"skipped": stored.skipped, "dropped": stored.dropped, "traps": traps, "shapes": shapes}


def _options(_source: Source, job: Job, _given: Mapping[str, str]) -> Content:
    return {"options": option_values(without_secrets(job).spec)}


def _more(found: list[Placed]) -> str | None:
    return cursor_of(found[ROWS - 1][0]) if len(found) > ROWS else None


_CONTENTS: dict[str, Callable[[Source, Job, Mapping[str, str]], Content]] = {
    "errors": _errors,
    "items": _items,
    "pages": _pages,
    "skipped": _skipped,
    "options": _options,
}
