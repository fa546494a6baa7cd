"""How much of the database is a job's."""

from __future__ import annotations

from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.database_size import database_bytes
from shoal.store.store import Store
from tests.store.make import JOB, item_record, job_with, page


def test_the_rows_of_a_job_are_measured(store: Store) -> None:
    job_with(store)
    job_with(store, id="other")
    pages = [page(n, items=[item_record("Book", {"text": "é" * 300, "n": n})]) for n in range(50)]
    save(store, Batch(JOB, pages=pages))
    size = database_bytes(store, JOB)
    assert 50 * 700 < size < 50 * 2_500
    assert database_bytes(store, "other") < 1_000
    save(store, Batch(JOB, pages=[page(n, 2) for n in range(50)]))
    assert database_bytes(store, JOB) < size - 50 * 600
