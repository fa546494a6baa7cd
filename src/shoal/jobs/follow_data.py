"""Reads the data of a running job as it is stored: first all that is there, then that of each page that is saved.

The rows are those of the export. Columns and types are those of the first rows; `is_current` tells whether an export
would still have the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from shoal.jobs.data_view import DataView, Row, default_data
from shoal.jobs.job_data import ViewedItems, job_data
from shoal.store.crawl.item_files import has_files
from shoal.store.jobs import Job, load_job
from shoal.store.results.columns import Columns, page_columns
from shoal.store.results.items import count_items, item_table
from shoal.store.results.listings import count_pages, list_pages_with_content
from shoal.store.store import Store


class DataFollower:
    def __init__(self, store: Store, job: Job, view: DataView) -> None:
        self._store = store
        self._job = job
        self._view = view
        self._gives_items = default_data(job) == "items"

    def rows(self, pages: Sequence[int]) -> list[Row]:
        """The data of these pages, as far as they are stored."""
        if not self._gives_items:
            formats = self._job.spec.formats
            return list(map(self._view.row, list_pages_with_content(self._store, self._job.id, {}, formats, pages)))
        with item_table(self._store, self._job.id, {}, pages, self._several) as table:
            return list(ViewedItems(table, self._view, self._spider_version))

    @cached_property
    def columns(self) -> Columns:
        return self._columns_now()

    def is_current(self, written: int) -> bool:
        """Whether these `written` rows are all rows of the job, each once, with the right columns."""
        if not self._gives_items:
            return written == count_pages(self._store, self._job.id)
        if written != count_items(self._store, self._job.id) or self._several != self._several_now():
            return False
        if has_files(self._store, self._job.id):
            # Fields of items that were written before their files came.
            return False
        return "columns" not in self.__dict__ or list(self.columns) == list(self._columns_now())

    @property
    def is_empty(self) -> bool:
        return not (count_items if self._gives_items else count_pages)(self._store, self._job.id)

    def all_columns(self) -> Columns:
        """Those of the data so far, chosen or not."""
        with job_data(self._store, self._job, default_data(self._job)) as data:
            return data.columns

    @cached_property
    def _several(self) -> bool:
        return self._several_now()

    @cached_property
    def _spider_version(self) -> str | None:
        return load_job(self._store, self._job.id).spider_version

    def _several_now(self) -> bool:
        with item_table(self._store, self._job.id, {}) as table:
            return table.several

    def _columns_now(self) -> Columns:
        if not self._gives_items:
            return self._view.columns(page_columns(self._job.spec.formats))
        with job_data(self._store, self._job, "items", view=self._view) as data:
            return data.columns
