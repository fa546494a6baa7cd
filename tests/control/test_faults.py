"""With a server away, what the others know is still told, and what cannot be done is 503 with the time to come back."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shoal.control.app import create_app
from shoal.control.async_bridge import NAME, Bridge
from shoal.control.readiness import KNOWN_S, WITHIN_S
from shoal.errors import Unavailable
from shoal.settings import Settings
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import list_jobs
from tests.cli.crawling import until
from tests.control.calling import Api, api_over, problem
from tests.control.test_records import page, with_dead
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.s3_server import S3Server
from tests.store.postgres_server import PostgresServer, fresh_database

URL = "https://example.com/"


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    """With a Redis of its own, which the test may kill."""
    with fleet_shell(tmp_path) as shell:
        yield shell


def test_without_redis_reads_work_and_writes_get_retry_after(api: Api, fleet: FleetShell) -> None:
    job = with_dead(api)
    save(api.bridge.store, Batch(job, pages=[page(job, 1)]))
    fleet.redis.kill()
    told = api.get(f"/jobs/{job}")
    assert (told["state"], told["pages"], told["dead"]) == ("waiting", 1, 3) and "Redis" in told["limiting"]
    began = time.monotonic()
    assert [api.get("/jobs")["jobs"][0]["pages"] for _ in range(12)] == [1] * 12
    assert time.monotonic() - began < 10, "a Redis that is away is not asked by every reader anew, for a second each"
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


def test_writes_work_again_when_redis_is_back(api: Api, fleet: FleetShell) -> None:
    job = api.submit(URL)
    fleet.redis.kill()
    problem(api("POST", "/jobs", {"urls": [URL]}), 503)
    fleet.redis.start()
    api.submit(URL)
    until(lambda: "Redis" not in (api.get(f"/jobs/{job}")["limiting"] or ""))


def test_requests_do_not_queue_for_an_unavailable_database(fleet: FleetShell) -> None:
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


def test_readiness_answers_within_two_seconds_if_the_database_is_silent(fleet: FleetShell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"postgresql://ann:hush@127.0.0.1:{mute.getsockname()[1]}/shoal"
        app = create_app(replace(fleet.settings, database_url=url))
        began = time.monotonic()
        ready = app.test_client().get("/readyz")
        assert time.monotonic() - began > 1.9
        told = {"status": "unavailable", "redis": "ok", "database": "unavailable", "archive": "ok"}
        assert ready.status_code == 503
        assert ready.get_json() == {**told, "reason": "the database does not answer within 2 s"}
        began = time.monotonic()
        assert [app.test_client().get("/readyz").status_code for _ in range(8)] == [503] * 8
        assert time.monotonic() - began < 8 * WITHIN_S / 2, "who asks meanwhile does not wait for it again"
        app.extensions[NAME].close()


def test_readiness_checks_are_cached(api: Api, fleet: FleetShell) -> None:
    def pings() -> int:
        return int(fleet.redis.client.info("commandstats").get("cmdstat_ping", {"calls": 0})["calls"])

    before, began = pings(), time.monotonic()
    assert {api.client.get("/readyz").status_code for _ in range(50)} == {200}
    assert 1 <= pings() - before <= 1 + (time.monotonic() - began) / KNOWN_S


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
            assert ready["reason"] == "the database does not work"


def test_a_database_without_tables_is_not_ready(
    on_postgres: Settings, postgres: PostgresServer, fleet: FleetShell
) -> None:
    with api_over(on_postgres) as api:
        postgres.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", database="control")
        until(lambda: api.client.get("/readyz").status_code == 503)
        ready = api.client.get("/readyz").get_json()
        assert (ready["redis"], ready["database"]) == ("ok", "unavailable")
        assert ready["reason"] == "the database schema is not of this version: run `shoal db upgrade`"
        assert on_postgres.database_url
        assert fleet("db", "upgrade", env={"SHOAL_DATABASE_URL": on_postgres.database_url}).code == 0
        until(lambda: api.client.get("/readyz").status_code == 200)


def test_a_bucket_that_is_away_is_said_and_the_api_stays_ready(
    fleet: FleetShell, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultProxy(s3.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        settings = replace(fleet.settings, archive_url=f"s3://{s3.new_bucket()}/crawls")
        proxy.fail(Fault(403))
        with api_over(settings) as api:
            ready = api.client.get("/readyz")
            assert (ready.status_code, ready.get_json()["archive"]) == (200, "unavailable")
            assert ready.get_json()["reason"] == "the archive does not work", "no address and no key"
