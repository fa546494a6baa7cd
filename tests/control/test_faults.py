"""With a server away, what the others know is still told, and what cannot be done is 503 with the time to come back."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.control.app import create_app
from shoal.control.bridge import NAME, Bridge
from shoal.errors import Unavailable
from shoal.settings import Settings
from shoal.store.batch import Batch, save
from shoal.store.jobs import list_jobs
from tests.cli.crawling import until
from tests.control.calling import Api, api_over, problem
from tests.control.test_records import page, with_dead
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.store.postgres_server import PostgresServer, fresh_database

URL = "https://example.com/"


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    """With a Redis of its own, which the test may kill."""
    with fleet_shell(tmp_path) as shell:
        yield shell


def test_without_redis_reads_work_and_writes_say_when_to_come_back(api: Api, fleet: FleetShell) -> None:
    job = with_dead(api)
    save(api.bridge.store, Batch(job, pages=[page(job, 1)]))
    fleet.redis.kill()
    told = api.get(f"/jobs/{job}")
    assert (told["state"], told["pages"], told["dead"]) == ("waiting", 1, 3) and "Redis" in told["limiting"]
    began = time.monotonic()
    assert [api.get("/jobs")["jobs"][0]["pages"] for _ in range(4)] == [1] * 4
    assert time.monotonic() - began < 2.5, "a Redis that is away is not asked by every reader anew"
    for path in ("pages", "items", "dead", "dead?group=reason", "export"):
        assert api("GET", f"/jobs/{job}/{path}").status_code == 200, path
    assert api.get("/stats")["redis_fault"]
    for method, path in (("POST", "/jobs"), ("POST", f"/jobs/{job}/pause")):
        answered = api(method, path, {"urls": [URL]} if path == "/jobs" else {})
        problem(answered, 503)
        assert int(answered.headers["Retry-After"]) > 0
    ready = api.client.get("/readyz")
    assert (ready.status_code, ready.get_json()["redis"], ready.get_json()["database"]) == (503, "unavailable", "ok")
    assert api.client.get("/livez").status_code == 200
    assert [one.id for one in list_jobs(api.bridge.store, 10)] == [job], "nothing was submitted"


def test_when_redis_is_back_so_are_writes(api: Api, fleet: FleetShell) -> None:
    job = api.submit(URL)
    fleet.redis.kill()
    problem(api("POST", "/jobs", {"urls": [URL]}), 503)
    fleet.redis.start()
    api.submit(URL)
    deadline = time.monotonic() + 20
    while "Redis" in (api.get(f"/jobs/{job}")["limiting"] or ""):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_database_that_is_away_is_not_waited_for_by_everybody_in_turn(fleet: FleetShell) -> None:
    # It takes the connection and says nothing.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://shoal@127.0.0.1:{mute.getsockname()[1]}/shoal"
        bridge = Bridge(replace(fleet.settings, database_url=url))
        began = time.monotonic()
        with pytest.raises(Unavailable):
            bridge.store  # noqa: B018
        alone_s = time.monotonic() - began
        began = time.monotonic()
        for _ in range(8):
            with pytest.raises(Unavailable):
                bridge.store  # noqa: B018
        assert time.monotonic() - began < max(alone_s, 1)
        bridge.close()


def test_readiness_is_told_within_two_seconds_by_a_database_that_says_nothing(fleet: FleetShell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://ann:hush@127.0.0.1:{mute.getsockname()[1]}/shoal"
        app = create_app(replace(fleet.settings, database_url=url))
        began = time.monotonic()
        ready = app.test_client().get("/readyz")
        assert 1.9 < time.monotonic() - began < 6
        told = {"status": "unavailable", "redis": "ok", "database": "unavailable"}
        assert ready.status_code == 503
        assert ready.get_json() == {**told, "reason": "the database does not answer within 2 s"}
        began = time.monotonic()
        assert [app.test_client().get("/readyz").status_code for _ in range(8)] == [503] * 8
        assert time.monotonic() - began < 1.9, "who asks meanwhile does not wait for it again"
        app.extensions[NAME].close()


def test_readiness_is_looked_at_once_in_a_while_however_often_it_is_asked_for(api: Api, fleet: FleetShell) -> None:
    def pings() -> int:
        return int(fleet.redis.client.info("commandstats").get("cmdstat_ping", {"calls": 0})["calls"])

    before = pings()
    assert {api.client.get("/readyz").status_code for _ in range(50)} == {200}
    assert pings() - before == 1


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def on_postgres(postgres: PostgresServer, fleet: FleetShell) -> Iterator[Settings]:
    for url in fresh_database(postgres, "control"):
        yield replace(fleet.settings, database_url=url)


def test_it_works_on_postgresql_and_without_it_all_is_503(on_postgres: Settings, postgres: PostgresServer) -> None:
    with api_over(on_postgres) as api:
        job = with_dead(api)
        save(api.bridge.store, Batch(job, pages=[page(job, n) for n in range(4)]))
        assert len(api.get(f"/jobs/{job}/pages?limit=3")["pages"]) == 3
        first = api.get(f"/jobs/{job}/items?limit=5")
        assert len(api.get(f"/jobs/{job}/items?limit=5&cursor={first['next']}")["items"]) == 3
        assert api.get(f"/jobs/{job}/dead?group=reason")["groups"][0]["count"] == 2
        key = {"Idempotency-Key": "k"}
        made = {api("POST", "/jobs", {"urls": [URL]}, headers=key).get_json()["id"] for _ in range(2)}
        assert len(made) == 1
        problem(api("GET", "/jobs/%00"), 404)
        assert api.get(f"/jobs/{job}/pages?host=%00&status=200")["pages"] == []
        api("POST", f"/jobs/{job}/cancel")
        assert api("DELETE", f"/jobs/{job}").status_code == 204
        assert [one["id"] for one in api.get("/jobs?lane=batch")["jobs"]] == list(made)
        assert api.client.get("/readyz").get_json()["reason"] is None
        with postgres.away():
            answered = api("GET", "/jobs")
            problem(answered, 503)
            assert answered.headers["Retry-After"]
            until(lambda: api.client.get("/readyz").status_code == 503)
            ready = api.client.get("/readyz").get_json()
            assert (ready["redis"], ready["database"]) == ("ok", "unavailable")
            assert ready["reason"] == "the database does not answer as it should"


def test_a_database_that_lost_its_tables_is_not_ready_until_it_has_them(
    on_postgres: Settings, postgres: PostgresServer, fleet: FleetShell
) -> None:
    with api_over(on_postgres) as api:
        postgres.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", database="control")
        until(lambda: api.client.get("/readyz").status_code == 503)
        ready = api.client.get("/readyz").get_json()
        assert (ready["redis"], ready["database"]) == ("ok", "unavailable")
        assert ready["reason"] == "the database has no tables of this version: run `shoal db upgrade`"
        assert on_postgres.database_url
        assert fleet("db", "upgrade", env={"SHOAL_DATABASE_URL": on_postgres.database_url}).code == 0
        until(lambda: api.client.get("/readyz").status_code == 200)
