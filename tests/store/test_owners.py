"""Jobs and schedules of owners, and those from before owners existed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import text

from shoal.errors import UnknownJob, UsageError
from shoal.model import JobSpec, JobState
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.database import schema
from shoal.store.database.upgrade import upgrade
from shoal.store.fleet.schedules import Overlap, Schedule, add_schedule, find_schedule, is_taken, list_schedules
from shoal.store.job_state import set_state
from shoal.store.jobs import count_jobs, create_job, earlier_jobs, find_job, list_jobs, load_job, unfinished_jobs
from shoal.store.results.items import save_item_types
from shoal.store.results.pagination import jobs_after
from shoal.store.results.quality import last_quality, measure_quality
from shoal.store.store import Store, database_at
from tests.store.make import item_record, item_type, page

OWNED = {"a1": "ann", "a2": "ann", "b1": "bob", "n1": None, "n2": None}
SCHEDULE = Schedule("s1", "news", "0 * * * *", "UTC", Overlap.SKIP, "{}", False, 1.0, 100.0)


@pytest.fixture
def owned(store: Store) -> Store:
    """Jobs with the same name, in the order of their ids."""
    for at, (id, owner) in enumerate(OWNED.items()):
        create_job(store, id, lambda: JobSpec("shop"), [], float(at), fleet=True, owner=owner)
    return store


def test_an_owner_finds_lists_and_counts_only_its_own_jobs(owned: Store) -> None:
    assert load_job(owned, "a1", "ann").owner == "ann"
    assert [job.id for job in list_jobs(owned, 9, "ann")] == ["a2", "a1"]
    assert [job.id for _, job in jobs_after(owned, {"owner": "ann"}, None, 9)] == ["a2", "a1"]
    assert [job.id for job in unfinished_jobs(owned, "ann")] == ["a1", "a2"]
    assert count_jobs(owned, "ann").by_state == {JobState.QUEUED: 2}
    assert (find_job(owned, "last", "ann").id, find_job(owned, "b", "bob").id) == ("a2", "b1")
    assert len(list_jobs(owned, 9)) == len(OWNED) and load_job(owned, "a1").id == "a1"


@pytest.mark.parametrize("name", ["b1", "b", "n1", "none"])
def test_another_owners_job_is_unknown(owned: Store, name: str) -> None:
    with pytest.raises(UnknownJob) as loaded:
        load_job(owned, name, "ann")
    with pytest.raises(UnknownJob) as found:
        find_job(owned, name, "ann")
    assert str(loaded.value) == f"there is no job {name!r}: `shoal jobs` lists them"
    assert str(found.value) == f"there is no job {name!r}; the newest are: a2 'shop', a1 'shop'"


def test_earlier_runs_of_a_job_have_the_same_owner(owned: Store) -> None:
    create_job(owned, "now-ann", lambda: JobSpec("shop"), [], 9.0, fleet=True, owner="ann")
    create_job(owned, "now-none", lambda: JobSpec("shop"), [], 9.0, fleet=True)
    assert [job.id for job in earlier_jobs(owned, "now-ann", 9)] == ["a2", "a1"]
    assert [job.id for job in earlier_jobs(owned, "now-none", 9)] == ["n2", "n1"]
    assert earlier_jobs(owned, "b1", 9) == []


def test_quality_is_compared_with_the_same_owners_last_run(owned: Store) -> None:
    for n, id in enumerate(("a1", "b1", "n1"), 1):
        found = page(1, items=[item_record("Book", {"title": f"{m}"}) for m in range(n)])
        found.job = id
        save_item_types(owned, id, [item_type("Book", {"title": "text"})])
        save(owned, Batch(id, pages=[found]))
        measure_quality(owned, id)
        set_state(owned, id, JobState.DONE, 5.0)
    assert [one.n for one in last_quality(owned, "shop", "a2")] == [1]
    assert [one.n for one in last_quality(owned, "shop", "n2")] == [3]
    assert last_quality(owned, "shop", "b1") == []


def test_two_owners_may_use_the_same_schedule_name(store: Store) -> None:
    anns, bobs, nobodys = (replace(SCHEDULE, id=f"s{n}", owner=who) for n, who in enumerate(("ann", "bob", None)))
    for one in (anns, bobs):
        assert not is_taken(store, "news", one.owner)
        add_schedule(store, one)
        assert is_taken(store, "news", one.owner) and not is_taken(store, "news", None)
        with pytest.raises(UsageError, match="already"):
            add_schedule(store, replace(one, id="other"))
    assert find_schedule(store, "news", "ann") == anns and list_schedules(store, "bob") == [bobs]
    assert find_schedule(store, bobs.id, "ann") is None
    with pytest.raises(UsageError, match="several schedules have the name 'news': give an id, one of s0, s1"):
        find_schedule(store, "news")
    assert find_schedule(store, bobs.id) == bobs
    add_schedule(store, nobodys)
    with pytest.raises(UsageError, match="already"):
        add_schedule(store, replace(nobodys, id="other"))
    assert find_schedule(store, "news") == nobodys and len(list_schedules(store)) == 3


def test_an_id_wins_over_an_equal_name_of_another_schedule(store: Store) -> None:
    add_schedule(store, SCHEDULE)
    add_schedule(store, replace(SCHEDULE, id="s2", name=SCHEDULE.id, created_at=0.0))
    assert find_schedule(store, SCHEDULE.id) == SCHEDULE


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_jobs_and_schedules_of_an_older_store_have_no_owner(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = tmp_path / "shoal.db" if kind == "sqlite" else request.getfixturevalue("empty_database")
    _make_older(place)
    with Store.open(place) if isinstance(place, Path) else _upgraded(place) as store:
        assert load_job(store, "old").owner is None
        found = find_schedule(store, "news")
        assert found == replace(SCHEDULE, paused=True)
        with pytest.raises(UsageError, match="already"):
            add_schedule(store, replace(SCHEDULE, id="s2"))
        add_schedule(store, replace(SCHEDULE, id="s3", owner="ann"))


def _make_older(place: Path | str) -> None:
    """A store as it was before jobs had owners."""
    job = JobSpec("shop").to_json()
    columns = "id, name, state, spec, created_at, seconds, admitted, seeded, offered_line, version, told, fleet"
    with Store(database_at(place)) as store, store.write() as db:
        db.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        command.upgrade(schema._config(db), "0001")
        values = "'old', 'shop', 'done', :spec, 1.0, 0.0, '[]', true, 0, 1, 1, true"
        db.execute(text(f"INSERT INTO jobs ({columns}) VALUES ({values})"), {"spec": job})
        schedule = "'s1', 'news', '0 * * * *', 'UTC', 'skip', '{}', true, 1.0, 100.0"
        db.execute(text(f"INSERT INTO schedules VALUES ({schedule})"))


def _upgraded(place: str) -> Store:
    """A database on a server must be upgraded by hand."""
    with pytest.raises(UsageError, match=r"schema 0001.*shoal db upgrade"):
        Store.open(place)
    assert upgrade(place).before == "0001"
    return Store.open(place)
