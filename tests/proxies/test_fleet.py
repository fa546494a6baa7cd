"""Proxies of a fleet: several processes share what they learn, and none of them goes direct."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from shoal.engine.proxies.learn_rows import changed_rows, learn_rows
from shoal.fetch.proxies.blame import Blame, Judgement
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.proxies.pool import ProxyPool
from shoal.fleet.proxy_channel import RedisHealthChannel
from shoal.fleet.proxy_limits import RedisProxyLimits
from shoal.frontier.redis import RedisFrontier
from shoal.model.proxy_list import read_proxies
from tests.fleet.running import Running
from tests.frontier.redis_server import RedisServer
from tests.proxies.bad_proxy import BadProxy, LoggedSite, in_thread

LIST = "http://a.test:1\nhttp://b.test:1"


async def test_what_one_process_learns_the_others_know(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        frontier = await RedisFrontier.open(server.url)
        first, second = (RedisHealthChannel(frontier.connection, name) for name in ("one", "two"))
        here, there = (ProxyPool("europe", read_proxies(LIST)) for _ in range(2))
        assert await first.receive() == await second.receive() == []
        for _ in range(20):
            exit = here.choose("site.test")
            assert isinstance(exit, Exit)
            here.note(exit, Judgement(Blame.PROXY, "down") if exit.place == 0 else Judgement(Blame.NOBODY, "", 0.1, 9))
            here.end(exit)
        await first.publish(list(changed_rows(here, 10.0)))
        learn_rows([there], await second.receive())
        assert there.records[0].is_cooled and there.records[0].reason == "down" and there.records[1].good > 5
        exits = [there.choose(f"h{n}.test") for n in range(20)]
        assert {exit.place for exit in exits if isinstance(exit, Exit)} == {1}
        assert await first.receive() == await second.receive() == []
        await frontier.close()


LIMITED, FAST = read_proxies("http://a.test:1 concurrency=2\nhttp://b.test:1 rate=5")


async def test_the_processes_of_a_fleet_share_the_limits_of_a_proxy(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        frontier = await RedisFrontier.open(server.url)
        one, two, three = (RedisProxyLimits(frontier.connection, name, 1.0) for name in ("one", "two", "three"))
        taken = [await limits.take("europe", LIMITED) for limits in (one, two, three)]
        assert taken[:2] == [0, 0] and taken[2] > 0
        assert await three.take("other", LIMITED) == 0
        await one.give_back("europe", LIMITED)
        assert await three.take("europe", LIMITED) == 0 and await one.take("europe", LIMITED) > 0
        async with asyncio.timeout(60):
            # Process three is killed. What it holds returns, and what a living one renews does not.
            while await one.take("europe", LIMITED) > 0:
                await two.renew()
                await asyncio.sleep(0.05)
        assert await three.take("europe", LIMITED) > 0
        await frontier.close()


async def test_the_processes_of_a_fleet_share_the_rate_of_a_proxy(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        frontier = await RedisFrontier.open(server.url)
        several = [RedisProxyLimits(frontier.connection, name) for name in ("one", "two", "three")]
        began = time.monotonic()

        async def use(limits: RedisProxyLimits) -> None:
            begun = 0
            while begun < 3:
                wait_s = await limits.take("europe", FAST)
                begun += not wait_s
                await asyncio.sleep(wait_s)

        await asyncio.gather(*map(use, several))
        assert time.monotonic() - began >= 8 / 5
        await frontier.close()


def _saved(fleet: Running, successes: int) -> dict[str, Any] | None:
    pool: dict[str, Any] = json.loads(fleet("proxies", "europe", "--json").out)
    return pool if sum(proxy["successes"] for proxy in pool["proxies"]) >= successes else None


def test_a_fleet_keeps_the_rate_over_all_proxies_and_never_goes_direct(tmp_path: Path) -> None:
    site = LoggedSite(pages=24)
    good = [BadProxy("good", f"127.0.0.2{n}") for n in range(3)]
    dead, dying = BadProxy("407"), BadProxy("dies", "127.0.0.29")
    with in_thread(site, *good, dead, dying), Running(tmp_path, workers=1, processes=3) as fleet:
        listed = [f"{proxy.url} price=0.1/request" for proxy in (*good, dead, dying)]
        (fleet.folder / "list.txt").write_text("\n".join(listed))
        assert fleet("proxies", "add", "europe", "list.txt").code == 0
        job = fleet.submit(site.url, "--rate", "12", "--proxies", "europe")
        fleet.until(lambda: len(site.visits) >= 8)
        fleet.workers[0].kill()
        fleet.start_worker()
        fleet.until_ended(job)
        pages = [json.loads(line) for line in fleet("pages", job, "--json").out.splitlines()]
        # The last figures are saved a moment after the last page.
        pool = fleet.until(lambda: _saved(fleet, 10))
        figures = fleet.until_ended(fleet.submit(site.url, "--rate", "0", "--proxies", "europe", "--max-cost", "0.5"))
    # When the limit is reached, each of the three processes may have two requests to the host in flight.
    assert figures["state"] == "limited" and 0.5 <= figures["cost"] <= 1.2
    assert len(pages) == 24 and {page["attempts"] for page in pages} <= {1, 2}
    assert site.addresses <= {"127.0.0.20", "127.0.0.21", "127.0.0.22", "127.0.0.29"}
    times = [visit.at for visit in site.visits if visit.path != "/robots.txt"]
    # The clock of a host is kept in Redis. A request takes a moment from there to the site, if the machine is busy.
    # With a clock for each proxy, nearly all would come together.
    assert sum(after - before < 0.04 for before, after in pairwise(times)) <= len(times) // 3, times
    assert pool is not None
    used = {proxy["proxy"]: proxy for proxy in pool["proxies"]}
    # "new" if only the worker that was killed met it.
    assert used[f"127.0.0.1:{dead.port}"]["state"] != "works" and dead.requests < 15
