"""A job's data for exports: items, rejects, refused items, pages or inputs as rows, and its archive as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property

from shoal.errors import UsageError
from shoal.jobs.data_view import ALL_FIELDS, DataView, Row
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.segment_table import require_segments
from shoal.store.crawl.input_report import input_report, own_columns
from shoal.store.crawl.item_files import file_records
from shoal.store.crawl.sink_state import list_refused
from shoal.store.jobs import Job
from shoal.store.results.columns import INPUT, REFUSED, REJECT, Columns, Kind, page_columns
from shoal.store.results.items import ItemTable, item_table, list_rejects
from shoal.store.results.listings import Where, list_pages_with_content
from shoal.store.results.parquet import Rows
from shoal.store.store import Store


class JobData:
    def __init__(self, rows: Rows, columns: Callable[[], Columns]) -> None:
        self.rows = rows
        self._columns = columns

    @cached_property
    def columns(self) -> Columns:
        return self._columns()


class ViewedItems:
    """The rows of a table of items. They can be iterated over several times."""

    def __init__(self, table: ItemTable, view: DataView, spider_version: str | None) -> None:
        self._table = table
        self._view = view
        self._spider_version = spider_version

    def __iter__(self) -> Iterator[Row]:
        table, view = self._table, self._view
        return map(view.row, table.with_provenance(self._spider_version) if view.provenance else table)


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
