"""Inputs: each URL as the user wrote it, and its position in the list."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.model import Input, Target
from shoal.store.database.plain_sql import run, value
from shoal.store.database.storable_text import json_text, storable_row
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Row, Transaction

_CHUNK = 1000
_UPSERT = Upsert("inputs", replace)
_IS_SEED = "fingerprint IS NOT NULL AND duplicate_of IS NULL"
_INPUTS = "SELECT line, spelt, url, fingerprint, host, reason, duplicate_of, columns FROM inputs"


def add_inputs(db: Transaction, job: str, given: Iterable[Input]) -> None:
    remaining = iter(given)
    while some := list(islice(remaining, _CHUNK)):
        _UPSERT.write(db, [_row(job, one) for one in some])


def last_line(db: Transaction, job: str) -> int:
    """0 if the job has no input."""
    return value(db, "SELECT max(line) FROM inputs WHERE job = :job", {"job": job}) or 0


def last_seed_line(db: Transaction, job: str) -> int:
    """The last line whose input is offered to the frontier; 0 if none is."""
    last = f"SELECT line FROM inputs WHERE job = :job AND {_IS_SEED} ORDER BY line DESC LIMIT 1"
    return value(db, last, {"job": job}) or 0


def seed_targets(store: Store, job: str, after_line: int, limit: int) -> list[Input]:
    """The next inputs to offer, in order: only accepted ones, and each request once."""
    wanted = f"{_INPUTS} WHERE job = :job AND line > :after AND {_IS_SEED} ORDER BY line LIMIT :most"
    with store.read_plain() as db:
        return [_input(row) for row in run(db, wanted, {"job": job, "after": after_line, "most": limit})]


def inputs_of(store: Store, job: str, fingerprint: int) -> list[Input]:
    """The inputs that name this request, in order."""
    asking = f"{_INPUTS} WHERE job = :job AND fingerprint = :fingerprint ORDER BY line"
    with store.read_plain() as db:
        return [_input(row) for row in run(db, asking, {"job": job, "fingerprint": fingerprint})]


class InputCounts(NamedTuple):
    accepted: int
    """Distinct requests."""
    duplicates: int
    rejected: int


def input_counts(store: Store, job: str) -> InputCounts:
    kinds = _IS_SEED, "duplicate_of IS NOT NULL", "fingerprint IS NULL"
    counts = ", ".join(f"count(*) FILTER (WHERE {kind})" for kind in kinds)
    with store.read_plain() as db:
        return InputCounts._make(run(db, f"SELECT {counts} FROM inputs WHERE job = :job", {"job": job})[0])


def _row(job: str, given: Input) -> tuple[Any, ...]:
    url, fingerprint, host = given.target[:3] if given.target else (None, None, None)
    columns = None if given.columns is None else json_text(dict(given.columns))
    about = (given.reason, given.duplicate_of, columns)
    return storable_row((job, given.line, given.spelt, url, fingerprint, host, *about))


def _input(row: Row) -> Input:
    line, spelt, url, fingerprint, host, reason, duplicate_of, columns = row
    target = Target(url, fingerprint, host) if fingerprint is not None else None
    return Input(line, spelt, target, reason, duplicate_of, None if columns is None else json.loads(columns))
