"""Looks up the outcome of a request: an ended request is in one of the tables pages, redirects, dead and drops."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import CompoundSelect, Connection, Select, Table, bindparam, literal, null, select, union_all

from shoal.store import tables
from shoal.store.database.in_list import in_list

OUTCOME_TABLES = {
    "page": tables.pages,
    "redirect": tables.redirects,
    "dead": tables.dead,
    "dropped": tables.drops,
}

# A fingerprint is bound once per table, and SQLite binds at most 32,766 values.
_MOST_FINGERPRINTS = 1000


class StoredOutcome(NamedTuple):
    outcome: str
    """A key of OUTCOME_TABLES."""
    fingerprint: int
    token: int
    url: str
    status: int | None
    reason: str | None
    target: int | None
    """The fingerprint of a redirect's target, if that is a request."""


@cache
def _lookup(dialect: str) -> CompoundSelect[*tuple[Any, ...]]:
    return union_all(*(_lookup_in(table, outcome, dialect) for outcome, table in OUTCOME_TABLES.items()))


def _lookup_in(table: Table, outcome: str, dialect: str) -> Select[*tuple[Any, ...]]:
    optional = [table.c.get(name, null()) for name in ("status", "reason", "target_fingerprint")]
    return select(literal(outcome), table.c.fingerprint, table.c.token, table.c.url, *optional).where(
        table.c.job == bindparam("job"), in_list(dialect, table.c.fingerprint, "fingerprints")
    )


def stored_outcomes(db: Connection, job: str, fingerprints: Iterable[int]) -> dict[int, StoredOutcome]:
    """Maps fingerprints to outcomes; requests that have not ended are missing."""
    found = {}
    remaining = iter(fingerprints)
    while some := list(islice(remaining, _MOST_FINGERPRINTS)):
        for row in db.execute(_lookup(db.dialect.name), {"job": job, "fingerprints": some}):
            outcome = StoredOutcome._make(row)
            found[outcome.fingerprint] = outcome
    return found
