"""Saves the results of leases: a batch of records of one job, in one transaction.

Saving a batch again, whole or in part, gives the same result. A record of an older lease than the stored row's is
ignored. A new outcome of a request replaces its old one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from shoal.model import DeadLetter, Drop, Packed, PageRecord, RedirectRecord
from shoal.store.archive.capture import Capture
from shoal.store.crawl.failed_attempts import FAILED, failure_key, write_failures
from shoal.store.crawl.item_rows import (
    PageItems,
    Row,
    clear_items,
    item_rows,
    reject_rows,
    take_items,
    write_items,
    write_rejects,
)
from shoal.store.crawl.merge_canonicals import merge
from shoal.store.crawl.offer_log import pack_offers, write_offers
from shoal.store.crawl.outcome_lookup import OUTCOME_TABLES, StoredOutcome, stored_outcomes
from shoal.store.crawl.pack_content import pack
from shoal.store.database.plain_sql import among, for_update, list_value, run
from shoal.store.database.sqlite_connections import SqliteTransaction
from shoal.store.database.sqlite_script import columns_of
from shoal.store.database.storable_text import storable, storable_row
from shoal.store.database.upsert import Upsert, add_count, replace_unless_older
from shoal.store.store import Store
from shoal.urls.path_pattern import path_pattern
from shoal.urls.traps import SAMPLES

if TYPE_CHECKING:
    from shoal.store.crawl.change_log import ChangedItems, PageChange
    from shoal.store.database.plain_sql import Transaction

Record = PageRecord | RedirectRecord | DeadLetter | Drop
Found = dict[int, tuple[str, Record]]
"""Fingerprint -> outcome (a key of OUTCOME_TABLES) and record."""
Counts = dict[tuple[str, str], tuple[int, str | None]]
"""(kind, key) of a tally -> the increment, and a sample."""

SKIPPED = "skipped"
UNARCHIVED = "unarchived"
MATCHED = "matched"
UNMATCHED = "unmatched"
DROPPED_ITEMS = "dropped_items"
RENDERED = "rendered"
SPENT = "spent"
"""In millionths of the currency of the job's proxies."""
BROWSER = "browser"
"""How a page was fetched that a browser loaded."""


class SelectorUse(NamedTuple):
    """A selector of a spider or of rules, and where they use it."""

    use: str
    """`each` or `follow`"""
    callback: str
    selector: str

    @property
    def key(self) -> str:
        return " ".join(self)

    @classmethod
    def of_key(cls, key: str) -> SelectorUse:
        return cls(*key.split(" ", 2))


@dataclass(slots=True)
class Batch:
    """Results of one job, to be saved in one transaction."""

    job: str
    pages: list[PageRecord] = field(default_factory=list)
    redirects: list[RedirectRecord] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    skips: dict[int, dict[str, int]] = field(default_factory=dict)
    """Page's fingerprint -> reason -> number of links not offered; counted only if the page is new."""
    matches: dict[int, dict[SelectorUse, bool]] = field(default_factory=dict)
    """Page's fingerprint -> selector -> whether it matched; counted only if the page is new."""
    dropped_items: dict[int, Mapping[str, int]] = field(default_factory=dict)
    """Page's fingerprint -> reason -> items that the spider's steps dropped; counted only if the page is new."""
    samples: dict[str, list[str]] = field(default_factory=dict)
    """Reason -> URLs of skipped links; the store keeps the job's first few per reason."""
    captures: list[tuple[Record, Capture]] = field(default_factory=list)
    """Captures for the archive, each with the record that it belongs to."""
    tallies: Counts = field(default_factory=dict)
    """Saving the batch twice adds them twice."""
    failed_at: dict[str, list[float]] = field(default_factory=dict)
    """The stored key of failed attempts -> when they failed."""
    offers: list[str] = field(default_factory=list)
    """Offers that the records lead to, for rebuilding a lost frontier; saving the batch twice logs them twice."""
    has_sinks: bool = False
    """Whether to log the items that change."""
    has_files: bool = False
    """Whether items may refer to files, so that fields have to be completed."""
    refreshes: bool = False
    """Whether to log pages without items too: an earlier job may have given items of them to the sinks."""

    def add_skipped(self, links: Mapping[str, int]) -> None:
        """Adds skipped links that belong to no page, by reason."""
        self.tallies.update({(SKIPPED, reason): (n, None) for reason, n in links.items() if n})

    def add_cost(self, millionths: int) -> None:
        n, _ = self.tallies.get((SPENT, ""), (0, None))
        self.tallies[SPENT, ""] = (n + millionths, None)

    def add_failure(self, kind: str, status: int | None, host: str, sample: str, at: float) -> None:
        """Counts a failed attempt."""
        key = storable(failure_key(kind, status, host))
        n, first = self.tallies.get((FAILED, key), (0, sample))
        self.tallies[FAILED, key] = (n + 1, first)
        self.failed_at.setdefault(key, []).append(at)

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


def _values_of(table: str) -> attrgetter[tuple[Any, ...]]:
    return attrgetter(*columns_of(table).names)


_UPSERTS = {
    outcome: (Upsert(table, replace_unless_older), _values_of(table)) for outcome, table in OUTCOME_TABLES.items()
}
_CONTENTS = Upsert("contents", replace_unless_older)
TALLIES = Upsert("tallies", add_count, without=frozenset({"first_at", "last_at", "trend"}))
_FEW = 4
_FEW_ITEMS = 20
_SMALL_BYTES = 64_000
"""Of a page's packed content."""
_MOST_FILE_LOCKS = 1_000
"""A batch with more files is saved while no other one of its job that has files is."""


def is_small(batch: Batch) -> bool:
    """Whether it takes no longer than a page usually takes."""
    if batch.has_sinks or batch.has_files or len(batch.redirects) + len(batch.dead) + len(batch.drops) > _FEW:
        return False
    few = len(batch.pages) <= _FEW and sum(len(page.items) for page in batch.pages) <= _FEW_ITEMS
    return few and all(_is_packed_small(page) for page in batch.pages)


def _is_packed_small(page: PageRecord) -> bool:
    return page.content is None or (isinstance(page.content, Packed) and len(page.content) <= _SMALL_BYTES)


def save_at_once(store: Store, batch: Batch) -> bool:
    """Like `save`. Returns False and saves nothing if it would have to wait for another writer or for a server."""
    return store.change_at_once(_writing(store, batch))


def save(store: Store, batch: Batch) -> None:
    # What sinks and files need is written with SQLAlchemy.
    (store.change if batch.has_sinks or batch.has_files else store.change_plain)(_writing(store, batch))


def _writing(store: Store, batch: Batch) -> Callable[[Transaction], None]:
    newest = batch.newest()
    # Packed before the transaction: the longest part of a save need not hold the write lock.
    packed = _packed_contents(newest)
    items, rejects = _rows_of(newest, item_rows), _rows_of(newest, reject_rows)
    offers = pack_offers(batch.offers) if batch.offers else None

    def write(db: Transaction) -> None:
        # Locked before the lookup: if two leases of a request are saved at once, it must not end up in two tables.
        _lock(store, db, batch, newest)
        stored = stored_outcomes(db, batch.job, newest)
        fresh = {
            fingerprint: (outcome, record)
            for fingerprint, (outcome, record) in newest.items()
            if fingerprint not in stored or stored[fingerprint].token <= record.token
        }
        old_items = _clear(db, batch, fresh, stored)
        told = _merged(db, batch.job, fresh, stored)
        for kind, (upsert, values) in _UPSERTS.items():
            rows = [values(record) for outcome, record in fresh.values() if outcome == kind]
            upsert.write(db, [storable_row(row) for row in rows])
        _CONTENTS.write(db, [row for fingerprint, row in packed.items() if fingerprint in fresh])
        new_items = write_items(db, chain.from_iterable(rows for page, rows in items.items() if page in told))
        write_rejects(db, [row for page, rows in rejects.items() if page in told for row in rows])
        if offers is not None:
            write_offers(db, batch.job, offers)
        changed = _changed_items(batch, old_items, new_items, fresh)
        if batch.has_files:
            filled = _fill_files(store, db, batch.job, fresh)
            changed = changed and changed.with_pages(filled)
        counts = _tally_counts(batch, fresh, stored)
        if changed is not None and changed.pages:
            counts[changed.tally] = (changed.n, None)
        if counts:
            # Last, because all workers of a job share the parts, and the transaction keeps its row locks until the end.
            part = store.lock_free_part(db, batch.job)
            _write_counts(db, batch, part, counts)
            _keep_samples(db, batch, part)
            if changed is not None and changed.pages:
                _log(db, batch.job, part, changed)

    return write


def _lock(store: Store, db: Transaction, batch: Batch, newest: Found) -> None:
    """A file may end in one batch while another links it: both lock it."""
    files: set[int] = set()
    if batch.has_files:
        files = {file for page in batch.pages for file in page.files}
        files |= {record.target_fingerprint for record in batch.redirects if record.target_fingerprint is not None}
        # A batch may link 100,000, and PostgreSQL's table of locks has room for some thousands.
        are_many = len(files) > _MOST_FILE_LOCKS
        store.lock_files(db, batch.job, alone=are_many)
        files = set() if are_many else files
    store.lock_requests(db, batch.job, {*newest, *files})


def _changed_items(batch: Batch, old_items: list[Row], new_items: list[Row], fresh: Found) -> ChangedItems | None:
    """None if the job has no sinks."""
    if not batch.has_sinks:
        return None
    # Imported here only, like what else needs SQLAlchemy: its import takes longer than a small crawl.
    from shoal.store.crawl.change_log import changed_items

    return changed_items(old_items, new_items, fresh if batch.refreshes else ())


def _log(db: Transaction, job: str, part: int, changed: ChangedItems) -> None:
    from shoal.store.crawl.change_log import log_changes

    assert not isinstance(db, SqliteTransaction)
    log_changes(db, job, part, changed)


def _fill_files(store: Store, db: Transaction, job: str, fresh: Found) -> list[PageChange]:
    from shoal.store.crawl.item_files import fill_files, link_files

    assert not isinstance(db, SqliteTransaction)
    saved = [record for _, record in fresh.values() if isinstance(record, PageRecord)]
    return fill_files(store, db, job, fresh, link_files(db, job, saved))


def _merged(db: Transaction, job: str, fresh: Found, stored: Mapping[int, StoredOutcome]) -> set[int]:
    """Merges pages by their canonical URLs. Returns those that represent themselves: items of others are not kept."""
    keyed = [page for _, page in fresh.values() if isinstance(page, PageRecord) and page.merge_key is not None]
    if keyed:
        merge(db, job, keyed, stored)
    return fresh.keys() - {page.fingerprint for page in keyed if page.merged_into is not None}


def _packed_contents(found: Found) -> dict[int, tuple[str, int, int, bytes]]:
    return {
        fingerprint: (page.job, fingerprint, page.token, pack(page.content))
        for fingerprint, (_, page) in found.items()
        if isinstance(page, PageRecord) and page.content is not None
    }


def _rows_of(found: Found, rows_of: Callable[[PageItems], list[Row]]) -> dict[int, list[Row]]:
    with_items = ((key, record) for key, (_, record) in found.items() if isinstance(record, PageRecord | Drop))
    return {fingerprint: rows_of(record) for fingerprint, record in with_items}


def _clear(db: Transaction, batch: Batch, fresh: Found, stored: Mapping[int, StoredOutcome]) -> list[Row]:
    """Removes what the fresh records do not overwrite: rows in another table, old contents and old items.

    Returns the old items if the job has sinks.
    """
    job = batch.job
    overtaken = [old for fingerprint, old in stored.items() if fingerprint in fresh]
    for kind, table in OUTCOME_TABLES.items():
        moved = [old for old in overtaken if old.outcome == kind != fresh[old.fingerprint][0]]
        _delete(db, table, job, moved)
    pages = [old for old in overtaken if old.outcome == "page"]
    _delete(db, "contents", job, pages)
    with_items = [old.fingerprint for old in overtaken if old.outcome in ("page", "dropped")]
    if batch.has_sinks:
        return take_items(db, job, with_items)
    clear_items(db, job, with_items)
    return []


def _delete(db: Transaction, table: str, job: str, old: Sequence[StoredOutcome]) -> None:
    if old:
        fingerprints = list_value(db, [outcome.fingerprint for outcome in old])
        these = f"DELETE FROM {table} WHERE job = :job AND {among(db, 'fingerprint', 'fingerprints')}"
        run(db, these, {"job": job, "fingerprints": fingerprints})


def _write_counts(db: Transaction, batch: Batch, part: int, counts: Counts) -> None:
    # Those of pages are without the columns of times: attempts fail seldom.
    failed = {key: counts.pop((FAILED, key)) for key in batch.failed_at}
    TALLIES.write(db, [storable_row((batch.job, *name, part, *counts[name])) for name in sorted(counts)])
    if failed:
        write_failures(db, batch.job, part, failed, batch.failed_at)


def _tally_counts(batch: Batch, fresh: Found, stored: Mapping[int, StoredOutcome]) -> Counts:
    counts = [(kind, key, n, sample) for (kind, key), (n, sample) in batch.tallies.items()]
    for fingerprint, reasons in batch.skips.items():
        if _is_new_page(fingerprint, fresh, stored):
            counts += [(SKIPPED, reason, n, None) for reason, n in reasons.items()]
    for fingerprint, matches in batch.matches.items():
        if _is_new_page(fingerprint, fresh, stored):
            url = fresh[fingerprint][1].url
            counts += [(MATCHED if found else UNMATCHED, used.key, 1, url) for used, found in matches.items()]
    for fingerprint, drops in batch.dropped_items.items():
        if _is_new_page(fingerprint, fresh, stored):
            counts += [(DROPPED_ITEMS, reason, n, fresh[fingerprint][1].url) for reason, n in drops.items()]
    for page in batch.pages:
        if page.via == BROWSER and _is_new_page(page.fingerprint, fresh, stored):
            counts.append((RENDERED, path_pattern(page.url), 1, page.url))
    tallies: Counts = {}
    for kind, key, more, sample in counts:
        # Made storable first: keys that become equal are one row.
        name = (kind, storable(key))
        n, first = tallies.get(name, (0, None))
        tallies[name] = (n + more, first or sample)
    return tallies


def _is_new_page(fingerprint: int, fresh: Found, stored: Mapping[int, StoredOutcome]) -> bool:
    """A page that is already stored was counted when it was first saved."""
    return fingerprint in fresh and not (fingerprint in stored and stored[fingerprint].outcome == "page")


def _keep_samples(db: Transaction, batch: Batch, part: int) -> None:
    """Stores samples with the tallies of their reasons, one per line: no URL contains a newline."""
    if not batch.samples:
        return
    of_part = "job = :job AND kind = :kind AND part = :part"
    known_values = {"job": batch.job, "kind": SKIPPED, "part": part, "keys": list_value(db, list(batch.samples))}
    reasons = f"SELECT key, sample FROM tallies WHERE {of_part} AND {among(db, 'key', 'keys')} ORDER BY key"
    for reason, sample in run(db, f"{reasons} {for_update(db)}", known_values):
        known = sample.split("\n") if sample else []
        first = list(dict.fromkeys([*known, *batch.samples[reason]]))[:SAMPLES]
        if len(first) > len(known):
            values = {**known_values, "key": reason, "sample": storable("\n".join(first))}
            run(db, f"UPDATE tallies SET sample = :sample WHERE {of_part} AND key = :key", values)
