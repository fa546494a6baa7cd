"""A job's data as rows with their columns: its items, its pages or its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from shoal.store.columns import INPUT, Columns, page_columns
from shoal.store.inputs import input_report
from shoal.store.items import item_table
from shoal.store.jobs import Job
from shoal.store.parquet import Rows
from shoal.store.records import list_pages_with_content
from shoal.store.store import Store


class Data(NamedTuple):
    rows: Rows
    columns: Columns


def default_data(job: Job) -> str:
    """What the job was run for."""
    return "items" if job.gives_items else "pages"


@contextmanager
def job_data(store: Store, job: Job, what: str) -> Iterator[Data]:
    """`items`, `pages` or `inputs`, of one moment."""
    if what == "inputs":
        yield Data(input_report(store, job.id), INPUT)
    elif what == "pages":
        formats = job.spec.formats
        yield Data(list_pages_with_content(store, job.id, {}, formats), page_columns(formats))
    else:
        with item_table(store, job.id, {}) as rows:
            yield Data(rows, rows.columns)
