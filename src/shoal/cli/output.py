"""A job's data as a file: its items, its pages or its inputs."""

from __future__ import annotations

from shoal.model import JobSpec
from shoal.store.columns import INPUT, page_columns
from shoal.store.export import export
from shoal.store.inputs import input_report
from shoal.store.items import item_table
from shoal.store.jobs import load_job
from shoal.store.records import list_pages_with_content
from shoal.store.store import Store


def default_data(spec: JobSpec) -> str:
    """What the job was run for."""
    return "pages" if spec.spider is None and spec.rules is None else "items"


def write_data(store: Store, job: str, what: str, output: str) -> int:
    """Writes `items`, `pages` or `inputs` and returns how many records they were."""
    if what == "inputs":
        return export(input_report(store, job), output, INPUT)
    if what == "pages":
        formats = load_job(store, job).spec.formats
        return export(list_pages_with_content(store, job, {}, formats), output, page_columns(formats))
    with item_table(store, job, {}) as rows:
        return export(rows, output, rows.columns)
