from __future__ import annotations

import pytest
from sqlalchemy import func, insert, select, text

from shoal.errors import ShoalError
from shoal.store.crawl.offer_log import add_offers, forget_offers, logged_offers
from shoal.store.crawl.overflow import add_overflow, overflow_offers, remove_overflow
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.job_figures import stored_figures
from shoal.store.store import Store
from shoal.store.tables import offers
from tests.store.make import JOB, job_with, page


def kept(store: Store, job: str = JOB) -> list[list[str]]:
    return [row.offers for row in logged_offers(store, job, 0, 100)]


def test_offers_are_logged_with_the_pages_they_were_found_on(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1)], offers=["a", "b\N{SNOWMAN}"]))
    save(store, Batch(JOB, pages=[page(2)]))
    save(store, Batch("j2", offers=["other"]))
    add_offers(store, JOB, ["c"])
    assert kept(store) == [["a", "b\N{SNOWMAN}"], ["c"]]


def test_a_failed_save_logs_no_offers(store: Store) -> None:
    with store.write() as db:
        db.execute(text("DROP TABLE tallies"))
    with pytest.raises(Exception, match="tallies") as failure:
        save(store, Batch(JOB, pages=[page(1)], offers=["a"], tallies={("skipped", "x"): (1, None)}))
    assert not isinstance(failure.value, ShoalError), "a bug, not a state of the world"
    with store.write() as db:
        store_tables = offers.metadata.tables
        store_tables["tallies"].create(db)
    assert kept(store) == [] and stored_figures(store, JOB).pages == 0


def test_a_reader_continues_after_the_last_row(store: Store) -> None:
    for n in range(5):
        add_offers(store, JOB, [str(n)])
    first = logged_offers(store, JOB, 0, 3)
    rest = logged_offers(store, JOB, first[-1].id, 3)
    assert [row.offers for row in first + rest] == [[str(n)] for n in range(5)]
    assert logged_offers(store, JOB, rest[-1].id, 3) == []


def test_only_the_offers_of_an_ended_job_are_deleted(store: Store) -> None:
    add_offers(store, "j2", ["other"])
    with store.write() as db:
        db.execute(insert(offers), [{"job": JOB, "packed": b""} for _ in range(1001)])
    forget_offers(store, JOB)
    with store.read() as db:
        assert db.execute(select(func.count()).select_from(offers)).scalar_one() == 1
    assert kept(store, "j2") == [["other"]]


def test_an_offer_stays_logged_after_it_left_the_overflow(store: Store) -> None:
    job_with(store, id="alone")
    job_with(store, id="fleet", fleet=True)
    add_overflow(store, [("fleet", "a"), ("alone", "x"), ("fleet", "b")])
    for row in overflow_offers(store, "fleet", 10):
        remove_overflow(store, "fleet", row.id, [])
    assert kept(store, "fleet") == [["a", "b"]]
    assert kept(store, "alone") == []
