"""Saving what leases found: a batch of records of one job, in one transaction.

A batch may be saved again, whole or in part, with the same result; a record of an older lease than the one that
wrote the row is ignored. Whatever was known of a request before gives way to its new ending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, Table, delete, select, update

from shoal.model import DeadLetter, Drop, PageRecord, RedirectRecord
from shoal.store import tables
from shoal.store.archive.capture import Capture
from shoal.store.content import pack
from shoal.store.endings import ENDINGS, Ending, endings
from shoal.store.item_rows import Row, clear_items, item_rows, reject_rows, write_items, write_rejects
from shoal.store.offers import pack_offers, write_offers
from shoal.store.store import Store
from shoal.store.text import storable, storable_row
from shoal.store.upsert import Upsert, add_count, replace_unless_older
from shoal.urls.traps import SAMPLES

Record = PageRecord | RedirectRecord | DeadLetter | Drop
Found = dict[int, tuple[str, Record]]
"""Fingerprint -> outcome (a key of ENDINGS) and record."""

SKIPPED = "skipped"
FAILED = "failed"
UNARCHIVED = "unarchived"


@dataclass(slots=True)
class Batch:
    job: str
    pages: list[PageRecord] = field(default_factory=list)
    redirects: list[RedirectRecord] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    skips: dict[int, dict[str, int]] = field(default_factory=dict)
    """Page's fingerprint -> reason -> links not offered; counted only with a page that is new."""
    samples: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> URLs of links skipped for it; the first few of the job are kept."""
    captures: list[tuple[Record, Capture]] = field(default_factory=list)
    """For the archive, each with the record it led to."""
    tallies: dict[tuple[str, str], tuple[int, str | None]] = field(default_factory=dict)
    """(kind, key) -> (how many more, a sample); added each time the batch is saved."""
    offers: list[str] = field(default_factory=list)
    """What the records lead to, kept for a frontier that is lost; each time the batch is saved."""

    def add_skipped(self, links: Mapping[str, int]) -> None:
        """By reason; those that no page counts."""
        self.tallies.update({(SKIPPED, reason): (n, None) for reason, n in links.items() if n})

    def add_failure(self, kind: str, status: int | None, host: str, sample: str) -> None:
        """Counts an attempt that failed."""
        key = (FAILED, failure_key(kind, status, host))
        n, first = self.tallies.get(key, (0, sample))
        self.tallies[key] = (n + 1, first)

    def newest(self) -> Found:
        """The newest record of each request."""
        kinds: tuple[tuple[str, Iterable[Record]], ...] = (
            ("page", self.pages),
            ("redirect", self.redirects),
            ("dead", self.dead),
            ("dropped", self.drops),
        )
        found: Found = {}
        for outcome, records in kinds:
            for record in records:
                known = found.get(record.fingerprint)
                if known is None or known[1].token <= record.token:
                    found[record.fingerprint] = (outcome, record)
        return found


def _values_of(table: Table) -> attrgetter[tuple[Any, ...]]:
    return attrgetter(*table.columns.keys())


_UPSERTS = {outcome: (Upsert(table, replace_unless_older), _values_of(table)) for outcome, table in ENDINGS.items()}
_CONTENTS = Upsert(tables.contents, replace_unless_older)
_TALLIES = Upsert(tables.tallies, add_count)


def failure_key(kind: str, status: int | None, host: str) -> str:
    """Under which attempts that failed in the same way at the same host are counted."""
    return f"{kind} {status or '-'} {host}"


def save(store: Store, batch: Batch) -> None:
    newest = batch.newest()
    # Before the transaction: the longest part of a save need not hold the write lock.
    packed = _packed_contents(newest)
    items, rejects = _rows_of(newest, item_rows), _rows_of(newest, reject_rows)
    offers = pack_offers(batch.offers) if batch.offers else None

    def write(db: Connection) -> None:
        # Before looking: two leases of a request that are saved at once must not end it in two tables.
        store.hold(db, batch.job, newest)
        standing = endings(db, batch.job, newest)
        fresh = {
            fingerprint: (outcome, record)
            for fingerprint, (outcome, record) in newest.items()
            if fingerprint not in standing or standing[fingerprint].token <= record.token
        }
        _clear(db, batch.job, fresh, standing)
        for kind, (upsert, values) in _UPSERTS.items():
            rows = [values(record) for outcome, record in fresh.values() if outcome == kind]
            upsert.write(db, [storable_row(row) for row in rows])
        _CONTENTS.write(db, [row for fingerprint, row in packed.items() if fingerprint in fresh])
        write_items(db, chain.from_iterable(rows for page, rows in items.items() if page in fresh))
        write_rejects(db, [row for page, rows in rejects.items() if page in fresh for row in rows])
        if offers is not None:
            write_offers(db, batch.job, offers)
        if counts := _tally_counts(batch, fresh, standing):
            # Last, because all workers of a job share the parts, and what was written is held until the end.
            part = store.free_part(db, batch.job)
            _TALLIES.write(db, [storable_row((batch.job, *name, part, *counts[name])) for name in sorted(counts)])
            _keep_samples(db, batch, part)

    store.change(write)


def _packed_contents(found: Found) -> dict[int, tuple[str, int, int, bytes]]:
    return {
        fingerprint: (page.job, fingerprint, page.token, pack(page.content))
        for fingerprint, (_, page) in found.items()
        if isinstance(page, PageRecord) and page.content is not None
    }


def _rows_of(found: Found, rows_of: Callable[[PageRecord], list[Row]]) -> dict[int, list[Row]]:
    return {fingerprint: rows_of(page) for fingerprint, (_, page) in found.items() if isinstance(page, PageRecord)}


def _clear(db: Connection, job: str, fresh: Found, standing: Mapping[int, Ending]) -> None:
    """Removes what the fresh records do not overwrite: rows in another table, and what a page used to say and give."""
    overtaken = [old for fingerprint, old in standing.items() if fingerprint in fresh]
    for kind, table in ENDINGS.items():
        moved = [old for old in overtaken if old.outcome == kind != fresh[old.fingerprint][0]]
        _delete(db, table, job, moved)
    pages = [old for old in overtaken if old.outcome == "page"]
    _delete(db, tables.contents, job, pages)
    clear_items(db, job, [old.fingerprint for old in pages])


def _delete(db: Connection, table: Table, job: str, old: Sequence[Ending]) -> None:
    if old:
        fingerprints = [ending.fingerprint for ending in old]
        db.execute(delete(table).where(table.c.job == job, table.c.fingerprint.in_(fingerprints)))


def _tally_counts(
    batch: Batch, fresh: Found, standing: Mapping[int, Ending]
) -> dict[tuple[str, str], tuple[int, str | None]]:
    counts = [(kind, key, n, sample) for (kind, key), (n, sample) in batch.tallies.items()]
    for fingerprint, reasons in batch.skips.items():
        # The links of a page that is already stored were counted with it.
        counted = fingerprint in standing and standing[fingerprint].outcome == "page"
        if fingerprint in fresh and not counted:
            counts += [(SKIPPED, reason, n, None) for reason, n in reasons.items()]
    tallies: dict[tuple[str, str], tuple[int, str | None]] = {}
    for kind, key, more, sample in counts:
        # Made storable first: keys that become the same are one row.
        name = (kind, storable(key))
        n, first = tallies.get(name, (0, None))
        tallies[name] = (n + more, first or sample)
    return tallies


def _keep_samples(db: Connection, batch: Batch, part: int) -> None:
    """With the tallies of their reasons, one a line: no URL has a newline."""
    if not batch.samples:
        return
    columns = tables.tallies.c
    counted = (columns.job == batch.job, columns.kind == SKIPPED, columns.part == part)
    reasons = select(columns.key, columns.sample).where(*counted, columns.key.in_(batch.samples))
    for reason, sample in db.execute(reasons.order_by(columns.key).with_for_update()).all():
        known = sample.split("\n") if sample else []
        first = list(dict.fromkeys([*known, *batch.samples[reason]]))[:SAMPLES]
        if len(first) > len(known):
            of_reason = update(tables.tallies).where(*counted, columns.key == reason)
            db.execute(of_reason.values(sample=storable("\n".join(first))))
