"""Every job command against a fleet: its jobs are looked at and steered as those of a home are."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.fleet.fleet import Fleet
from shoal.fleet.roster import RosterEntry, write
from shoal.frontier.contract import ALL_LANES, Caller
from shoal.frontier.serialize import request_text
from shoal.model import Completion, DeadLetter, JobState, Lane, Outcome
from shoal.practice import Running, Shop, running
from shoal.settings import UP_FILE
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.jobs import load_job
from tests.cli.conftest import Here
from tests.cli.crawling import WITHIN_S, until
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.store.postgres_server import PostgresServer, fresh_database

URL = "https://example.com/a"


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path) as shell:
        yield shell


def state_in_store(fleet: FleetShell, job: str) -> JobState:
    async def look(opened: Fleet) -> JobState:
        return load_job(opened.store, job).state

    return fleet.by_hand(look)


def die(fleet: FleetShell, job: str) -> None:
    """The job's one request ends as a dead letter, and the job with it."""
    (lease,) = fleet.lease()

    async def act(opened: Fleet) -> None:
        request = request_text(lease.target, lease.trail)
        url, fingerprint, host = lease.target[:3]
        letter = DeadLetter(
            job, fingerprint, lease.token, url, host, "http", 503, "503", 0, None, 1, time.time(), request
        )
        save(opened.store, Batch(job, dead=[letter]))
        await opened.frontier.complete(Caller("end").next(), [Completion(lease.token, Outcome.DEAD)])

    fleet.by_hand(act)
    fleet.end(job, JobState.FAILED)


def test_a_job_is_paused_resumed_and_cancelled(fleet: FleetShell) -> None:
    job = fleet.submit(URL, "https://example.org/")
    fleet.begin(job)
    fleet.man()
    assert fleet.figures(job)["state"] == "running"

    ran = fleet("pause", job, "--json")
    assert ran.lines == [{"id": job, "state": "paused"}] and "workers finish" in ran.err
    assert fleet.figures(job)["state"] == "paused" and fleet.lease() == []
    assert state_in_store(fleet, job) is JobState.PAUSED

    ran = fleet("resume", job)
    assert (ran.code, f"job {job} continues; follow it: shoal watch {job}" in ran.err) == (0, True)
    assert state_in_store(fleet, job) is JobState.RUNNING
    assert len(fleet.lease()) == 2

    ran = fleet("cancel", job)
    assert ran.code == 0 and "cancelled" in ran.err
    figures = fleet.figures(job)
    assert figures["state"] == "cancelled" and figures["finished_at"]
    assert fleet.lease() == []


def test_a_job_that_has_not_started_can_be_paused_and_resumed_as_queued(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    assert fleet("pause", job).code == 0
    assert fleet.figures(job)["state"] == "paused"
    assert fleet("resume", job).code == 0
    assert state_in_store(fleet, job) is JobState.QUEUED
    assert fleet("cancel", job).code == 0
    assert fleet.figures(job)["state"] == "cancelled"


def test_an_ended_job_cannot_be_paused_resumed_or_cancelled(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    fleet.end(job, JobState.DONE)
    for command in ("pause", "resume", "cancel"):
        ran = fleet(command, job)
        assert (ran.code, f"there is nothing to {command}" in ran.err) == (2, True)


def test_dead_letters_are_retried_without_a_resume(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    die(fleet, job)
    ran = fleet("dead", job, "--json")
    assert [letter["url"] for letter in ran.lines] == [URL]

    ran = fleet("dead", job, "--retry")
    assert ran.code == 0 and f"shoal watch {job}" in ran.err, ran.err
    assert state_in_store(fleet, job) is JobState.RUNNING
    assert fleet("dead", job, "--json").lines == []
    (lease,) = until(fleet.lease)
    assert lease.target.url == URL


def test_a_waiting_job_says_what_blocks_it(fleet: FleetShell) -> None:
    job = fleet.submit(URL, "--lane", "slow")
    assert fleet.figures(job)["limiting"] == "no worker is running: shoal worker --lanes slow"
    fleet.man(Lane.EXPRESS, Lane.BATCH)
    figures = fleet.figures(job)
    assert figures["state"] == "waiting"
    assert figures["limiting"] == "no worker serves its lane: shoal worker --lanes slow"
    assert "waits for   no worker serves its lane" in fleet("job", job).out
    fleet.man(unloadable={job: "module shop cannot be imported"})
    assert fleet.figures(job)["limiting"] == "no worker can load it: module shop cannot be imported"
    fleet.man(waiting_for="the database does not answer")
    assert fleet.figures(job)["limiting"] == "every worker is waiting: the database does not answer"
    fleet.man()
    assert (fleet.figures(job)["state"], fleet.figures(job)["limiting"]) == ("queued", None)


def test_a_job_that_some_workers_cannot_load_says_so(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    fleet.man(unloadable={job: "there is no secret ACME for a proxy"})
    other = RosterEntry("child-there-9", "child", "there", 9, ALL_LANES)
    fleet.by_hand(lambda opened: write(opened.frontier.connection, other))
    figures = fleet.figures(job)
    assert figures["limiting"] == "1 of 2 workers cannot load it: there is no secret ACME for a proxy"


def test_a_job_says_that_some_of_its_requests_wait_for_a_browser(fleet: FleetShell) -> None:
    job = fleet.submit(URL, "https://other.example/")
    fleet.begin(job)
    fleet.man()
    shell, other = until(fleet.lease)
    fleet.complete(shell, Outcome.RETRY, needs_browser=True)
    figures = fleet.figures(job)
    missing = "no worker has a browser, and 1 request needs one: shoal worker --browsers 1"
    assert (figures["state"], figures["limiting"]) == ("running", missing)
    fleet.complete(other)
    figures = fleet.figures(job)
    missing = "no worker has a browser, and its pages need one: shoal worker --browsers 1"
    assert (figures["state"], figures["limiting"]) == ("waiting", missing)
    fleet.man(browser_fault="its sandbox does not work")
    missing = "no worker's browser starts, and its pages need one: its sandbox does not work"
    assert fleet.figures(job)["limiting"] == missing
    fleet.man(browser_pages=4)
    assert fleet.figures(job)["state"] == "running"


def test_a_job_that_gets_no_slices_says_what_tend_waits_for(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.man(tend_waits_for="the broker does not accept messages")
    figures = fleet.figures(job)
    assert (figures["state"], figures["limiting"]) == (
        "waiting",
        "tend is waiting: the broker does not accept messages",
    )
    fleet.man(tend_waits_for="the broker does not accept messages", lane=Lane.BATCH)
    assert fleet.figures(job)["limiting"] is None


def test_a_fleet_without_tend_says_so(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.man(tended=False)
    assert fleet.figures(job)["limiting"] == "the fleet has no tend process. Start one: shoal tend"


def test_watch_shows_what_the_job_waits_for_and_ends_with_the_job(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    fleet.man()
    with fleet.start("watch", job) as watching:
        assert watching.stderr
        assert " p/s" in watching.stderr.readline()
        fleet.redis.client.delete("{shoal:0}:roster")
        assert any("waiting: no worker is running" in line for line in watching.stderr)
        fleet.end(job, JobState.DONE)
        _, err = watching.communicate(timeout=WITHIN_S)
    assert watching.returncode == 0
    assert ": done, " in err


def test_watch_survives_a_restart_of_redis(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    fleet.man()
    with fleet.start("watch", job) as watching:
        assert watching.stderr
        watching.stderr.readline()
        fleet.redis.kill()
        assert any("does not answer" in line for line in watching.stderr)
        fleet.redis.start()
        fleet.end(job, JobState.DONE)
        watching.communicate(timeout=WITHIN_S)
    assert watching.returncode == 0


def test_ctrl_c_ends_watch_but_not_the_job(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    with fleet.start("watch", job) as watching:
        assert watching.stderr
        watching.stderr.readline()
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=WITHIN_S)
    assert watching.returncode == 0
    assert f"shoal watch {job}" in err and "Traceback" not in err


def test_a_lost_frontier_is_waited_for_and_an_ended_job_is_counted_from_the_store(fleet: FleetShell) -> None:
    ended, lost = fleet.submit(URL), fleet.submit(URL)
    fleet.begin(ended)
    die(fleet, ended)
    fleet.begin(lost)
    fleet.redis.client.flushall()
    fleet.man()
    figures = fleet.figures(lost)
    assert figures["state"] == "waiting" and f"shoal rebuild {lost}" in figures["limiting"]
    figures = fleet.figures(ended)
    assert (figures["state"], figures["found"], figures["dead"]) == ("failed", 1, 1)
    assert fleet("explain", lost, URL, "--json").lines[0]["outcome"] == "queued"


def test_read_only_commands_work_on_a_fleet(fleet: FleetShell) -> None:
    job = fleet.submit(URL, "--name", "looked at")
    fleet.begin(job)
    fleet.man()
    assert fleet("explain", "last", URL, "--json").lines[0]["outcome"] == "queued"
    assert len(fleet.lease()) == 1
    assert fleet("explain", "last", URL, "--json").lines[0]["outcome"] == "leased"
    assert [host["host"] for host in fleet("hosts", "--json").lines] == ["example.com"]
    assert fleet("hosts", "example.com", "--rate", "0.5", "--json").lines[0]["rate"] == 0.5
    assert fleet("pages", job, "--json").lines == fleet("items", job, "--json").lines == []
    assert [json.loads(line)["url"] for line in fleet("export", job, "--inputs", "-o", "-").out.splitlines()] == [URL]
    ran = fleet("jobs")
    assert ran.code == 0 and "looked at" in ran.out and "running" in ran.out
    ran = fleet("extract", job, "--rules", "none.yaml")
    assert ran.code == 2


def test_a_crawl_here_stays_a_job_of_its_home(fleet: FleetShell) -> None:
    fleets = fleet.submit(URL)
    with running(Shop(hosts=1, categories=1, products=2, troubled=False)) as site:
        home = _crawl(fleet, site)
        assert fleet.figures(home)["state"] == "done"
        assert {line["id"] for line in fleet("jobs", "--json").lines} == {home, fleets}
        assert "`shoal crawl` starts another" in fleet("resume", home).err


def _crawl(fleet: FleetShell, site: Running) -> str:
    ran = fleet.apart("crawl", site.url(), "--allow-private", "--rate", "0", "--json")
    return str(ran.summary["job"])


def test_a_fleet_job_cannot_be_controlled_without_redis(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    outside = Here(fleet.folder)
    for command in ("pause", "resume", "cancel"):
        ran = outside(command, job)
        assert (ran.code, "SHOAL_REDIS_URL" in ran.err) == (2, True)
    (figures,) = outside("job", job, "--json").lines
    assert figures["state"] == "running" and "SHOAL_REDIS_URL" in figures["limiting"]


def test_a_job_whose_shoal_up_has_stopped_is_interrupted_not_ended(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.begin(job)
    (fleet.home / UP_FILE).write_text("{}")
    outside, down = Here(fleet.folder), "its fleet is down: `shoal up` starts it again"
    for command in ("pause", "resume", "cancel"):
        ran = outside(command, job)
        assert (ran.code, ran.err) == (2, f"error: job {job}: {down}\n")
    shown = outside("job", job).out
    assert "example.com, interrupted" in shown and down in shown
    assert shown.endswith("continue with: shoal up\n")
    assert outside("jobs").out.splitlines()[1].split()[1:4] == ["interrupted", "0", "?"]
    watched = outside("watch", job).err
    assert "interrupted" in watched and "100%" not in watched
    assert "no process works on it; continue with: shoal up" in watched


def test_a_paused_job_whose_fleet_is_down_stays_paused(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    assert fleet("pause", job).code == 0
    (fleet.home / UP_FILE).write_text("{}")
    (figures,) = Here(fleet.folder)("job", job, "--json").lines
    assert figures["state"] == "paused" and "its fleet is down" in figures["limiting"]


def test_without_redis_a_command_fails_at_once_with_the_address(fleet: FleetShell) -> None:
    job = fleet.submit(URL)
    fleet.redis.kill()
    began = time.monotonic()
    ran = fleet("job", job)
    assert (ran.code, f"Redis at 127.0.0.1:{fleet.redis.port}" in ran.err) == (5, True)
    assert time.monotonic() - began < 10, "a worker would have that much patience"


def test_a_fleet_on_postgresql(tmp_path: Path) -> None:
    with PostgresServer() as postgres:
        for url in fresh_database(postgres, "fleet"):
            with fleet_shell(tmp_path, url) as fleet:
                job = fleet.submit(URL)
                fleet.begin(job)
                fleet.man()
                assert fleet.figures(job)["state"] == "running"
                assert fleet("pause", "last").code == fleet("cancel", "last").code == 0
                assert fleet.figures(job)["state"] == "cancelled"
                assert not fleet.home.exists()
                postgres.stop()
                ran = fleet("jobs")
                assert (ran.code, f"127.0.0.1:{postgres.port}" in ran.err) == (5, True)
                postgres.start()
