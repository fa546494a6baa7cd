"""Writes a job's data as a dataset: Parquet parts by the day of the fetch, or by a field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.cli.output_file import OutputFile, check_columns
from shoal.jobs.data_view import DataView
from shoal.jobs.job_data import job_data
from shoal.store.jobs import Job
from shoal.store.results.columns import PROVENANCE, iso_time
from shoal.store.results.dataset import Partition, open_dataset, write_dataset
from shoal.store.store import Store

_DATE, _DATE_OF_CRAWL = "date", "crawl_date"
_TIMES = {"items": "_fetched_at", "pages": "fetched_at"}


def write_stored_dataset(store: Store, job: Job, what: str, output: OutputFile) -> int:
    """Raises UsageError and Unavailable."""
    with job_data(store, job, what, view=output.view) as data:
        columns = data.columns
    with job_data(store, job, what, view=_everything(what)) as data:
        if data.columns:
            check_columns(output._replace(view=DataView()), what, data.columns, True)
        partition = _partition(job, what, output, data.columns)
        return write_dataset(output.dataset_store(), job.id, data.rows, columns, partition)


def write_exported_dataset(
    exported: Callable[[str, DataView], Iterable[bytes]], job: Job, what: str, output: OutputFile
) -> int:
    """The same from the export of an API, which gives one Parquet file."""
    with TemporaryDirectory(prefix="shoal-") as folder:
        file = Path(folder) / "all.parquet"
        with file.open("wb") as out:
            out.writelines(exported("parquet", _everything(what)))
        with pq.ParquetFile(file) as whole:
            names = whole.schema_arrow.names
            partition = _partition(job, what, output, names)
            own = [name for name in names if name not in PROVENANCE or output.view.provenance]
            shown = [name for name in output.view.fields or own if name != partition.name]
            schema = pa.schema([whole.schema_arrow.field(name) for name in shown])
            objects = output.dataset_store()
            with open_dataset(objects, job.id, partition, schema) as dataset:
                for batch in whole.iter_batches():
                    table = pa.Table.from_batches([batch])
                    dataset.add(table.select(shown), partition.of_table(table))
            return int(whole.metadata.num_rows)


def _everything(what: str) -> DataView:
    """All fields: the partition may be made of one that is not written."""
    return replace(DataView(), provenance=what == "items")


def _partition(job: Job, what: str, output: OutputFile, columns: Iterable[str]) -> Partition:
    if output.partition is not None:
        return Partition(output.partition, output.partition, overwrite=output.overwrite)
    name = _DATE_OF_CRAWL if _DATE in columns else _DATE
    day = iso_time(job.created_at)[:10]
    return Partition(name, _TIMES.get(what), is_date=True, default=day, overwrite=output.overwrite)
