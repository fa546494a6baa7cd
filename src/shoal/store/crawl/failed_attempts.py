"""Counts the failed attempts of a job in groups of the same kind at the same host, with times and a trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shoal.store.database.plain_sql import among, for_update, list_value, run
from shoal.store.database.storable_text import storable_row
from shoal.store.database.upsert import Upsert, add_failures
from shoal.store.failure_trend import FailureTrend, merged, trend_of_times

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

FAILED = "failed"
"""Their kind of tallies."""
_TALLIES = Upsert("tallies", add_failures)


def failure_key(kind: str, status: int | None, host: str) -> str:
    return f"{kind} {status or '-'} {host}"


def write_failures(
    db: Transaction,
    job: str,
    part: int,
    counts: Mapping[str, tuple[int, str | None]],
    at: Mapping[str, Sequence[float]],
) -> None:
    """`counts` have the number and a sample of each key, `at` the times. The caller has locked the part."""
    trends = _trends(db, job, part, at)
    rows = [
        (job, FAILED, key, part, *counts[key], min(at[key]), max(at[key]), trends[key].text) for key in sorted(counts)
    ]
    _TALLIES.write(db, [storable_row(row) for row in rows])


def _trends(db: Transaction, job: str, part: int, at: Mapping[str, Sequence[float]]) -> dict[str, FailureTrend]:
    """The stored ones with these failures."""
    trends = {key: trend_of_times(times) for key, times in at.items()}
    of_part = f"job = :job AND kind = :kind AND part = :part AND {among(db, 'key', 'keys')}"
    values = {"job": job, "kind": FAILED, "part": part, "keys": list_value(db, list(trends))}
    # Locked, so that none is forgotten between here and its change. In order, so that two that lock do not wait for
    # each other.
    for key, text in run(db, f"SELECT key, trend FROM tallies WHERE {of_part} ORDER BY key {for_update(db)}", values):
        if text is not None:
            trends[key] = merged([FailureTrend.of_text(text), trends[key]])
    return trends
