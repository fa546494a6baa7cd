"""Scrapy's DOWNLOAD_SLOTS: a host keeps its own delay and number in flight, for all processes together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from shoal.cli.job_spec_text import terms
from shoal.engine.job_start import terms_of
from shoal.errors import UsageError
from shoal.frontier.contract import HostTerms
from shoal.frontier.validation import MOST_HOST_TERMS
from shoal.model import HostPoliteness, JobSpec
from shoal.practice.process import Running
from shoal.scrapy.download_slots import slot_warnings
from shoal.scrapy.project_settings import crawl_plan
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import Spider, stored_items

DELAY_S = 0.02


class Named:
    name = "shop"


def hosts(**settings: Any) -> tuple[HostPoliteness, ...]:
    return crawl_plan(Settings(settings), Named()).spec.politeness.hosts


def test_processes_keep_the_slot_of_a_host_together(large_shop: Running, tmp_path: Path, redis: RedisServer) -> None:
    large_shop.control(latency_ms=10)
    slots = {"127.0.0.1": {"concurrency": 1, "delay": DELAY_S}, "slow.example": {"delay": 100}}
    settings: dict[str, Any] = {
        "REDIS_URL": redis.url,
        "SHOAL_JOB": "slots",
        "ROBOTSTXT_OBEY": True,
        "FILES_STORE": tmp_path / "files",
        "ITEM_PIPELINES": '{"scrapy.pipelines.files.FilesPipeline": 1, "shoal.scrapy.Pipeline": 900}',
        "DOWNLOAD_SLOTS": json.dumps(slots),
    }
    spiders = [Spider("gallery", large_shop, tmp_path, output=f"{n}.jsonl", **settings) for n in range(2)]
    for spider in spiders:
        assert "DOWNLOAD_SLOTS:" not in spider.wait()
    log = large_shop.log()
    assert stored_items(tmp_path, "slots").total() == 16
    starts = sorted(visit.t_start for visit in log)
    assert len(starts) > 60 and starts[-1] - starts[0] >= (len(starts) - 1) * DELAY_S * 0.95
    assert {visit.in_flight for visit in log} == {1}


def test_what_a_slot_does_not_say_is_as_for_other_hosts() -> None:
    slots = {"A.example": {"delay": 2}, "b.example": {"concurrency": 20}, "::1": {"delay": 0, "concurrency": 1}}
    usual = {"DOWNLOAD_SLOTS": slots, "DOWNLOAD_DELAY": 0.25, "CONCURRENT_REQUESTS_PER_DOMAIN": 6}
    first, second, third = hosts(**usual)
    assert first == HostPoliteness("a.example", 0.5, 6)
    assert second == HostPoliteness("b.example", 4.0, 20)
    assert third == HostPoliteness("[::1]", 0.0, 1)
    throttled = hosts(**usual, AUTOTHROTTLE_ENABLED=True, AUTOTHROTTLE_TARGET_CONCURRENCY=2.0)
    assert [host.per_host for host in throttled] == [2, 2, 1]
    assert hosts(DOWNLOAD_SLOTS={}) == hosts(DOWNLOAD_SLOTS={"the slow ones": {"delay": 2}}) == ()


def test_the_job_keeps_and_shows_its_slots() -> None:
    settings = {"DOWNLOAD_DELAY": 0.5, "DOWNLOAD_SLOTS": {"a.example": {"delay": 1, "concurrency": 2}}}
    spec = crawl_plan(Settings(settings), Named()).spec
    assert JobSpec.from_json(spec.to_json()) == spec
    assert terms_of(spec, 0.0).hosts == (HostTerms("a.example", 1.0, 2),)
    assert terms(spec)["politeness"].endswith(" per host, 1 request/s and 2 in flight at a.example")
    assert [spec.politeness.rate_at(host) for host in ("a.example:81", "b.example")] == [1.0, 2.0]
    assert "rate_0" not in spec.overrides
    unlimited = crawl_plan(Settings({**settings, "DOWNLOAD_SLOTS": {"a.example": {"delay": 0}}}), Named()).spec
    assert "rate_0" in unlimited.overrides


def test_what_is_not_used_of_a_slot_is_said() -> None:
    assert slot_warnings({"a.example": {"delay": 2, "concurrency": 1, "randomize_delay": False, "jitter": 0}}) == []
    said = slot_warnings(
        {
            "a.example": {"randomize_delay": True},
            "b.example": {"jitter": 0.5, "burst": 3},
            "the slow ones": {"delay": 2},
            "slow": {"delay": 2},
        }
    )
    assert [line.removeprefix("DOWNLOAD_SLOTS: ") for line in said] == [
        "a.example: randomize_delay=True is not used: delays have no random part",
        "b.example: jitter=0.5 is not used: delays have no random part",
        "b.example: burst=3 has no equivalent",
        "'the slow ones' is not used: it is no host name, and delays belong to hosts",
        "'slow' is used for a host of this name only, and not for requests with download_slot='slow': delays belong to "
        "hosts",
    ]


@pytest.mark.parametrize("slot", [{"delay": "soon"}, {"delay": "inf"}, {"delay": -1}, {"concurrency": None}])
def test_a_slot_that_says_no_number_is_refused(slot: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"DOWNLOAD_SLOTS: a\.example: (delay|concurrency) is .*: use a number"):
        hosts(DOWNLOAD_SLOTS={"a.example": slot})


def test_more_slots_than_the_frontier_takes_are_refused() -> None:
    slots = {f"{number}.example": {"delay": 1} for number in range(MOST_HOST_TERMS + 1)}
    with pytest.raises(UsageError, match="DOWNLOAD_SLOTS has 501 hosts: at most 500 have slots of their own"):
        hosts(DOWNLOAD_SLOTS=slots)
