"""Looks up the outcome of a request: an ended request is in one of the tables pages, redirects, dead and drops."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from shoal.store.database.plain_sql import among, is_postgres, list_value, run
from shoal.store.database.sqlite_script import columns_of

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

OUTCOME_TABLES = {"page": "pages", "redirect": "redirects", "dead": "dead", "dropped": "drops"}

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


def stored_outcomes(db: Transaction, job: str, fingerprints: Iterable[int]) -> dict[int, StoredOutcome]:
    """Maps fingerprints to outcomes; requests that have not ended are missing."""
    found = {}
    remaining = iter(fingerprints)
    lookup = _lookup(among(db, "fingerprint", "fingerprints"), is_postgres(db))
    while some := list(islice(remaining, _MOST_FINGERPRINTS)):
        for row in run(db, lookup, {"job": job, "fingerprints": list_value(db, some)}):
            outcome = StoredOutcome._make(row)
            found[outcome.fingerprint] = outcome
    return found


@cache
def _lookup(is_wanted: str, typed: bool) -> str:
    """`typed`: a missing column needs its type."""
    missing = {"status": "INTEGER", "reason": "TEXT", "target_fingerprint": "BIGINT"}

    def lookup_in(outcome: str, table: str) -> str:
        columns = columns_of(table).names
        optional = [
            name if name in columns else f"CAST(NULL AS {type})" if typed else "NULL" for name, type in missing.items()
        ]
        values = ", ".join([f"'{outcome}'", "fingerprint", "token", "url", *optional])
        return f"SELECT {values} FROM {table} WHERE job = :job AND {is_wanted}"

    return " UNION ALL ".join(lookup_in(outcome, table) for outcome, table in OUTCOME_TABLES.items())
