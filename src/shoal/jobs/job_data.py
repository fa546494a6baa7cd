"""A job's data for exports: items, rejects, refused items, pages or inputs as rows, and its archive as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.errors import UsageError
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.segment_table import require_segments
from shoal.store.crawl.inputs import input_report, own_columns
from shoal.store.crawl.item_files import file_records
from shoal.store.crawl.sink_state import list_refused
from shoal.store.jobs import Job
from shoal.store.results.columns import INPUT, PROVENANCE, REFUSED, REJECT, Columns, Kind, page_columns
from shoal.store.results.items import ItemTable, item_table, list_rejects
from shoal.store.results.listings import Where, list_pages_with_content
from shoal.store.results.parquet import Rows
from shoal.store.store import Store
from shoal.wording import did_you_mean

Row = Mapping[str, Any]


class JobData:
    def __init__(self, rows: Rows, columns: Callable[[], Columns]) -> None:
        self.rows = rows
        self._columns = columns

    @cached_property
    def columns(self) -> Columns:
        return self._columns()


@dataclass(frozen=True, slots=True)
class DataView:
    """What an export shows of the data."""

    fields: tuple[str, ...] = ()
    """Its columns in order; all if empty."""
    provenance: bool = False
    """Adds where each item comes from."""
    may_lack: bool = False
    """Accepts fields that no item has yet: what a Python spider finds is known only when it has found it."""

    def check(self, what: str, columns: Columns, are_all_known: bool) -> None:
        """Raises UsageError for a field that the data does not have; `columns` without provenance."""
        if self.provenance and what != "items":
            raise UsageError(f"provenance is for items, and these are {what}, which say where they come from")
        unknown = self.lacking(columns) if are_all_known and not self.may_lack else []
        if unknown:
            raise UsageError(f"there is no field {unknown[0]}: choose from {', '.join(self._known(columns))}")

    def lacking(self, columns: Columns) -> list[str]:
        """The fields that are not among the columns, quoted, each with the nearest one that is."""
        known = self._known(columns)
        return [f"{name!r}{did_you_mean(name, known)}" for name in self.fields if name not in known]

    def _known(self, columns: Columns) -> tuple[str, ...]:
        return (*columns, *PROVENANCE) if self.provenance else tuple(columns)

    def columns(self, columns: Columns) -> Columns:
        shown = {**columns, **PROVENANCE} if self.provenance else columns
        return {name: shown.get(name, Kind.TEXT) for name in self.fields} if self.fields else shown

    def row(self, row: Row) -> Row:
        return {name: row.get(name) for name in self.fields} if self.fields else row


ALL_FIELDS = DataView()


class ViewedItems:
    """The rows of a table of items. They can be iterated over several times."""

    def __init__(self, table: ItemTable, view: DataView, spider_version: str | None) -> None:
        self._table = table
        self._view = view
        self._spider_version = spider_version

    def __iter__(self) -> Iterator[Row]:
        table, view = self._table, self._view
        return map(view.row, table.with_provenance(self._spider_version) if view.provenance else table)


def default_data(job: Job) -> str:
    """The main result of the job."""
    return "items" if job.gives_items else "pages"


@contextmanager
def job_data(
    store: Store, job: Job, what: str, where: Where | None = None, view: DataView = ALL_FIELDS
) -> Iterator[JobData]:
    """A snapshot of `items`, `rejects`, `refused`, `pages` or `inputs`; `where` may limit the first three to a type.

    Raises UsageError for a view of fields that do not exist.
    """
    if what == "items":
        with item_table(store, job.id, where or {}) as table:
            view.check(what, table.columns if view.fields else {}, table.is_declared)
            yield JobData(ViewedItems(table, view, job.spider_version), lambda: view.columns(table.columns))
    elif what == "inputs":
        own = own_columns(store, job.id, INPUT)
        columns = {**INPUT, **dict.fromkeys(own.values(), Kind.TEXT)}
        yield _viewed(view, what, input_report(store, job.id, own), columns)
    elif what == "refused":
        yield _viewed(view, what, list_refused(store, job.id, where or {}), REFUSED)
    elif what == "rejects":
        yield _viewed(view, what, list_rejects(store, job.id, where or {}), REJECT)
    else:
        formats = job.spec.formats
        yield _viewed(view, what, list_pages_with_content(store, job.id, {}, formats), page_columns(formats))


def _viewed(view: DataView, what: str, rows: Rows, columns: Columns) -> JobData:
    view.check(what, columns, True)
    return JobData(map(view.row, rows) if view.fields else rows, lambda: view.columns(columns))


def archive_chunks(store: Store, archive: Archive, job: str) -> Iterator[bytes]:
    """All records of the job's archive. Raises UsageError if it has none."""
    require_segments(store, archive, job)
    if not archive.segments(job):
        raise UsageError(
            f"job {job} has no archive: it was crawled with --no-archive or with a too small --max-archive-bytes, "
            "or has no response yet"
        )
    return archive.chunks(job, [Reference.parse(text) for text in file_records(store, job)])
