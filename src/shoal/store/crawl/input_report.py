"""The report on a job's inputs: each with the outcome of its request."""

from __future__ import annotations

import json
from collections.abc import Collection, Generator, Mapping
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Row, select

from shoal.store.crawl.outcome_lookup import StoredOutcome, stored_outcomes
from shoal.store.store import Store
from shoal.store.tables import inputs

_CHUNK = 1000
_MOST_HOPS = 20
_MOST_COLUMNS = 200
"""Of a report: the objects of JSON lines may all have different keys."""


def own_columns(store: Store, job: str, taken: Collection[str]) -> dict[str, str]:
    """The columns of the lists that the inputs come from, in their order, each with its name in a report. A name that
    is `taken` by the report gets `input_` before it."""
    names: dict[str, None] = {}
    rows = select(inputs.c.columns).where(inputs.c.job == job, inputs.c.columns.is_not(None)).order_by(inputs.c.line)
    with store.read() as db:
        for (columns,) in db.execution_options(yield_per=_CHUNK).execute(rows):
            names.update(dict.fromkeys(json.loads(columns)))
            if len(names) >= _MOST_COLUMNS:
                break
    return {name: f"input_{name}" if name in taken else name for name in islice(names, _MOST_COLUMNS)}


def input_report(
    store: Store, job: str, columns: Mapping[str, str] | None = None
) -> Generator[dict[str, Any], None, None]:
    """One row per input, in order, with the outcome of its request after all redirects, and with these columns of its
    list."""
    with store.read() as db:
        after_line = -1
        while chunk := _chunk(db, job, after_line):
            after_line = chunk[-1].line
            ends = _with_targets(db, job, {row.fingerprint for row in chunk if row.fingerprint is not None})
            for row in chunk:
                yield _report(row, ends) | (_own(row, columns) if columns else {})


def _chunk(db: Connection, job: str, after_line: int) -> list[Row[*tuple[Any, ...]]]:
    rest = select(inputs).where(inputs.c.job == job, inputs.c.line > after_line)
    return list(db.execute(rest.order_by(inputs.c.line).limit(_CHUNK)))


def _with_targets(db: Connection, job: str, fingerprints: set[int]) -> dict[int, StoredOutcome]:
    """The outcomes of these requests and of those they redirect to."""
    found: dict[int, StoredOutcome] = {}
    for _ in range(_MOST_HOPS + 1):
        found |= stored_outcomes(db, job, fingerprints)
        fingerprints = {end.target for end in found.values() if end.target is not None} - found.keys()
        if not fingerprints:
            break
    return found


def _report(row: Row[*tuple[Any, ...]], ends: Mapping[int, StoredOutcome]) -> dict[str, Any]:
    report = {"line": row.line, "url": row.spelt, "final_url": None, "status": None}
    if row.fingerprint is None:
        return {**report, "outcome": "rejected", "reason": row.reason, "duplicate_of": None}
    end = _last(row.fingerprint, ends)
    if end is None:
        return {**report, "outcome": "queued", "reason": None, "duplicate_of": row.duplicate_of}
    return {
        **report,
        "final_url": end.url,
        "status": end.status,
        "outcome": end.outcome,
        "reason": end.reason,
        "duplicate_of": row.duplicate_of,
    }


def _own(row: Row[*tuple[Any, ...]], columns: Mapping[str, str]) -> dict[str, Any]:
    given = json.loads(row.columns) if row.columns else {}
    return {shown: given.get(name) for name, shown in columns.items()}


def _last(fingerprint: int, ends: Mapping[int, StoredOutcome]) -> StoredOutcome | None:
    end = ends.get(fingerprint)
    for _ in range(_MOST_HOPS):
        if end is None or end.target is None:
            break
        end = ends.get(end.target)
    return end
