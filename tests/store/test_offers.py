from __future__ import annotations

import pytest
from sqlalchemy import func, insert, select, text

from shoal.errors import ShoalError
from shoal.store.batch import Batch, save
from shoal.store.figures import stored_figures
from shoal.store.offers import add_offers, forget_offers, kept_offers
from shoal.store.store import Store
from shoal.store.tables import offers
from shoal.store.waiting import add_waiting, remove_waiting, waiting
from tests.store.make import JOB, job_with, page


def kept(store: Store, job: str = JOB) -> list[list[str]]:
    return [row.offers for row in kept_offers(store, job, 0, 100)]


def test_offers_are_kept_with_the_pages_they_were_found_on(store: Store) -> None:
    save(store, Batch(JOB, pages=[page(1)], offers=["a", "b\N{SNOWMAN}"]))
    save(store, Batch(JOB, pages=[page(2)]))
    save(store, Batch("j2", offers=["other"]))
    add_offers(store, JOB, ["c"])
    assert kept(store) == [["a", "b\N{SNOWMAN}"], ["c"]]


def test_a_save_that_fails_keeps_no_offers(store: Store) -> None:
    with store.write() as db:
        db.execute(text("DROP TABLE tallies"))
    with pytest.raises(Exception, match="tallies") as failure:
        save(store, Batch(JOB, pages=[page(1)], offers=["a"], tallies={("skipped", "x"): (1, None)}))
    assert not isinstance(failure.value, ShoalError), "a bug, not a state of the world"
    with store.write() as db:
        store_tables = offers.metadata.tables
        store_tables["tallies"].create(db)
    assert kept(store) == [] and stored_figures(store, JOB).pages == 0


def test_they_are_read_from_where_the_reader_left_off(store: Store) -> None:
    for n in range(5):
        add_offers(store, JOB, [str(n)])
    first = kept_offers(store, JOB, 0, 3)
    rest = kept_offers(store, JOB, first[-1].id, 3)
    assert [row.offers for row in first + rest] == [[str(n)] for n in range(5)]
    assert kept_offers(store, JOB, rest[-1].id, 3) == []


def test_those_of_an_ended_job_are_forgotten_and_no_others(store: Store) -> None:
    add_offers(store, "j2", ["other"])
    with store.write() as db:
        db.execute(insert(offers), [{"job": JOB, "packed": b""} for _ in range(1001)])
    forget_offers(store, JOB)
    with store.read() as db:
        assert db.execute(select(func.count()).select_from(offers)).scalar_one() == 1
    assert kept(store, "j2") == [["other"]]


def test_what_waited_for_room_stays_kept_when_it_waits_no_longer(store: Store) -> None:
    job_with(store, id="alone")
    job_with(store, id="fleet", fleet=True)
    add_waiting(store, [("fleet", "a"), ("alone", "x"), ("fleet", "b")])
    for row in waiting(store, "fleet", 10):
        remove_waiting(store, "fleet", row.id, [])
    assert kept(store, "fleet") == [["a", "b"]]
    assert kept(store, "alone") == []
