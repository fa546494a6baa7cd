"""The fleet in numbers: those of all its processes, living or gone, in a form that Prometheus takes."""

from __future__ import annotations

import re
import time
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

import shoal
from shoal.control.metrics import KEPT_S, exposition
from shoal.engine.request_result import dead
from shoal.fleet.fleet import Fleet
from shoal.fleet.metric_counters import Counters, read_counters
from shoal.frontier.contract import Caller
from shoal.frontier.redis.shard import TAG
from shoal.model import JobSpec, Lane
from shoal.practice import Shop, running
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.crawl.sink_state import SinkKey, note_fault
from shoal.store.jobs import create_job
from tests.control.calling import Api, api_over
from tests.control.prometheus import Samples, promtool, samples
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.fleet.running import Running
from tests.store.make import item_record, page

DOCS = Path(shoal.__file__).parents[2] / "docs" / "metrics.md"


def scraped(api: Api) -> str:
    """As it is now."""
    text = exposition(api.bridge).decode()
    promtool("check", "metrics", given=text)
    return text


def test_metrics_are_cached_for_a_moment(api: Api) -> None:
    first = api.client.get("/metrics")
    assert first.status_code == 200 and first.content_type.startswith("text/plain")
    began = time.monotonic()
    api.submit("http://a.test/1")
    again = api.client.get("/metrics").text
    assert again == first.text or time.monotonic() - began > KEPT_S / 2
    assert samples(scraped(api))["shoal_jobs", ("queued",)] == 1


def test_all_metrics_of_an_idle_fleet_are_documented_and_pass_promtool(api: Api) -> None:
    text = scraped(api)
    told = samples(text)
    assert told["shoal_up", ("redis",)] == told["shoal_up", ("database",)] == 1
    assert told["shoal_requests_ended_total", ("batch", "done")] == 0
    assert told["shoal_jobs", ("done",)] == 0
    named = set(re.findall(r"^\| `(shoal_\w+)` \|", DOCS.read_text(), flags=re.MULTILINE))
    families = {
        {"counter": f"{family.name}_total"}.get(family.type, family.name)
        for family in text_string_to_metric_families(text)
    }
    assert named == families


def test_queued_and_leased_requests_are_counted_by_lane_with_their_age(api: Api, fleet: FleetShell) -> None:
    fleet.redis.client.set(f"{TAG}:clock", "2000000000")
    job = api.submit("http://a.test/1", "http://a.test/2", "http://b.test/1", lane="express")
    fleet.begin(job)
    fleet.redis.client.set(f"{TAG}:clock", "2000000007.5")
    told = samples(scraped(api))
    assert told["shoal_requests_queued", ("express",)] == 3 and told["shoal_requests_queued", ("batch",)] == 0
    assert told["shoal_queue_age_seconds", ("express",)] == 7.5
    assert told["shoal_lease_age_seconds", ()] == 0
    leased = len(fleet.lease())
    fleet.redis.client.set(f"{TAG}:clock", "2000000010")
    told = samples(scraped(api))
    assert told["shoal_requests_leased", ("express",)] == leased >= 2
    assert told["shoal_lease_age_seconds", ()] == 2.5
    assert told["shoal_jobs", ("running",)] == 1
    assert told["shoal_frontier_memory_bytes", ()] > 0 == told["shoal_frontier_memory_limit_bytes", ()]


def test_a_paused_job_keeps_nobody_waiting(api: Api, fleet: FleetShell) -> None:
    fleet.redis.client.set(f"{TAG}:clock", "2000000000")
    job = api.submit("http://a.test/1")
    fleet.begin(job)
    api("POST", f"/jobs/{job}/pause")
    fleet.redis.client.set(f"{TAG}:clock", "2000000100")
    told = samples(scraped(api))
    assert told["shoal_requests_queued", ("batch",)] == 1 and told["shoal_queue_age_seconds", ("batch",)] == 0


def test_processes_are_counted_by_lane_and_role(api: Api, fleet: FleetShell) -> None:
    fleet.man(Lane.BATCH, in_flight=5, unstored=7, waiting_for="Redis")
    told = samples(scraped(api))
    assert told["shoal_workers", ("batch",)] == 1 and told["shoal_workers", ("express",)] == 0
    assert told["shoal_processes", ("child",)] == told["shoal_processes", ("tend",)] == 1
    assert told["shoal_requests_in_flight", ()] == 5 and told["shoal_requests_unstored", ()] == 7
    assert told["shoal_processes_waiting", ()] == 1


def test_items_that_sinks_have_not_got_yet_are_counted(api: Api, fleet: FleetShell) -> None:
    async def save_an_item(opened: Fleet) -> None:
        spec = JobSpec("books", sinks=("redis://127.0.0.1:1/0?list=books",))
        create_job(opened.store, "j1", lambda: spec, [], 1.0, fleet=True)
        save(opened.store, Batch("j1", pages=[page(1, items=[item_record("Book", {})])], has_sinks=True))
        note_fault(opened.store, SinkKey("j1", 0), "connection refused", stuck=False)

    assert samples(scraped(api))["shoal_sink_behind_items", ()] == 0
    fleet.by_hand(save_an_item)
    told = samples(scraped(api))
    assert told["shoal_sink_behind_items", ()] == told["shoal_sinks_waiting", ()] == 1
    assert told["shoal_sink_behind_seconds", ()] >= 0


def test_counts_that_are_sent_twice_count_once(fleet: FleetShell, api: Api) -> None:
    job = api.submit("http://a.test/1")
    fleet.begin(job)
    (lease,) = fleet.lease()
    tally = Counters("child-1")
    tally.add(Lane.BATCH, dead(lease, "http", 503, "gone"))

    async def act(place: Fleet) -> None:
        await tally.send(place.frontier)
        call, counts = Caller("child-2").next(), {"ended batch dead": 2}
        for _ in range(3):
            await place.frontier.count(call, counts)
        assert await read_counters(place.frontier) == {("ended", "batch", "dead"): 3, ("failed", "batch", "503"): 1}

    fleet.by_hand(act)
    assert samples(scraped(api))["shoal_attempts_failed_total", ("503", "batch")] == 1


def test_without_redis_it_still_answers_and_says_so(tmp_path: Path) -> None:
    with fleet_shell(tmp_path) as fleet, api_over(fleet.settings) as api:
        scraped(api)
        fleet.redis.kill()
        told = samples(scraped(api))
    assert told["shoal_up", ("redis",)] == 0 and told["shoal_up", ("database",)] == 1
    assert told["shoal_jobs", ("done",)] == 0
    assert not any(name.startswith("shoal_requests") for name, _ in told)


def test_a_full_redis_reports_no_process_counts(tmp_path: Path) -> None:
    """It takes no word of who is at work, and whoever watches `shoal_workers` would look for the wrong fault."""
    with fleet_shell(tmp_path) as fleet, api_over(fleet.settings) as api:
        scraped(api)
        fleet.redis.client.config_set("maxmemory", 1)
        told = samples(scraped(api))
        assert "at its maxmemory: raise it" in api.get("/stats")["redis_fault"]
    assert told["shoal_up", ("redis",)] == 1
    assert not any(name.startswith(("shoal_workers", "shoal_processes")) for name, _ in told)


def pages_of(told: Samples) -> dict[str, float]:
    return {
        "ended": told["shoal_requests_ended_total", ("batch", "done")],
        "timed": told["shoal_page_duration_seconds_count", ("batch",)],
        "beyond": told["shoal_page_duration_seconds_bucket", ("batch", "+Inf")],
    }


def test_a_crawl_is_counted_completely_after_its_workers_ended(tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=2, products=20, troubled=False)
    with running(shop, log=tmp_path / "site.log") as site, Running(tmp_path, processes=1) as fleet:
        job = fleet.submit(site.url(), "--rate", "0")
        figures = fleet.until_ended(job)
        fleet.workers[0].terminate()
        fleet.workers[0].ended()
        with api_over(fleet.settings) as api:
            told = samples(api.client.get("/metrics").text)
        pages = figures["pages"]
        assert pages_of(told) == {"ended": pages, "timed": pages, "beyond": pages} and pages > 20
        assert told["shoal_page_bytes_total", ("batch",)] == figures["bytes"]
        assert told["shoal_requests_ended_total", ("batch", "redirect")] == figures["redirects"]
        assert told["shoal_requests_queued", ("batch",)] == told["shoal_workers", ("batch",)] == 0
