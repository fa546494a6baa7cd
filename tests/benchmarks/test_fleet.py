"""What the fleet's figures rest on: whole sessions are counted, sites answer late, reports tell what was measured."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from benchmarks.fleet.bulk import Bulk, Submitting
from benchmarks.fleet.connections import Connections
from benchmarks.fleet.connections import Look as Connected
from benchmarks.fleet.lanes import Behind, Beside, Lanes, Urgent
from benchmarks.fleet.latency_site import far_away, hosts
from benchmarks.fleet.rivals import RIVALS, Rival
from benchmarks.fleet.scaling import Scaling
from benchmarks.fleet.session import session
from benchmarks.fleet.soaking import FleetSoak
from benchmarks.fleet.versus import FleetRun, Versus
from benchmarks.frontier_redis import redis_server
from benchmarks.measure import CannotMeasure
from benchmarks.report import render
from benchmarks.results import Circumstances, Figures, Result, keep, kept
from benchmarks.soak import Look
from tests.frontier.redis_server import redis_program

# A parent that waits for one child and keeps another; each uses a quarter of a second.
FAMILY = """
import os, time
def work():
    while time.process_time() < 0.25:
        pass
for place in range(2):
    if not os.fork():
        work()
        time.sleep(60 * place)
        os._exit(0)
os.wait()
print("waiting", flush=True)
time.sleep(60)
"""


def test_a_session_has_the_time_of_children_that_live_and_of_those_that_ended(tmp_path: Path) -> None:
    with session([sys.executable, "-c", FAMILY], tmp_path / "output", {}) as family:
        family.settle()
        assert family.count() == 2
        # In ticks of a hundredth each; without the one that was waited for it would be half.
        assert 0.4 < family.cpu_s() < 1.0
        assert family.memory_bytes() > family.peak_bytes() / 4 > 1_000_000
    deadline = time.monotonic() + 120
    # Whoever adopts the child that was killed takes a moment to notice.
    while family.count():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_session_that_ends_instead_of_waiting_is_no_figure(tmp_path: Path) -> None:
    code = "import sys, time; time.sleep(0.3); sys.exit('no Redis there')"
    with (
        session([sys.executable, "-c", code], tmp_path / "output", {}) as failing,
        pytest.raises(CannotMeasure, match="code 1:\nno Redis there"),
    ):
        failing.used()


def test_what_a_session_used_is_told_when_it_has_ended(tmp_path: Path) -> None:
    code = FAMILY.replace("60", "0")
    with session([sys.executable, "-c", code], tmp_path / "output", {}) as family:
        used = family.used()
    assert used.ru_utime + used.ru_stime >= 0.25
    assert family.output() == "waiting\n"


def test_hosts_answer_after_their_own_latency_and_not_one_after_the_other() -> None:
    quick, slow = hosts(1, 2)
    with far_away({quick: 0.01, slow: 2.0}) as site:
        began = time.time()
        urls = [*site.urls([slow], 3, "slow"), *site.urls([quick], 3, "quick")]
        readers = [threading.Thread(target=lambda url=url: urlopen(url).close()) for url in urls]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        assert len(site.seen("slow")) == len(site.seen("quick")) == 3
        assert max(site.seen("quick")) < began + 1.9 <= min(site.seen("slow"))
        assert max(site.seen("slow")) < began + 6, "so long would one after the other take"


def test_a_redis_counts_commands_and_connections(tmp_path: Path) -> None:
    redis_program()
    with redis_server(tmp_path, append_only=False) as server:
        assert server.commands("lpush") == 0
        server.client.lpush("list", "a", "b")
        server.client.lpush("list", "c")
        assert server.commands("lpush") == 2
        assert server.connected() == 1


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.name)
def test_a_rival_is_handed_its_first_url_where_it_waits_for_it(rival: Rival, tmp_path: Path) -> None:
    redis_program()
    with redis_server(tmp_path, append_only=False) as server:
        rival.seed(server, "http://127.0.0.1/")
        assert server.client.llen("links:start_urls") + server.client.llen("celery") == 1


FIGURES: dict[str, tuple[Figures, list[str]]] = {
    "fleet": (
        Versus(
            1000,
            {"scrapy-redis": "0.9.1"},
            {
                "Shoal": [FleetRun(1000, 1.0, 2.0, 80_000_000, 0.2, 0.1)],
                "scrapy-redis": [FleetRun(500, 8.0, 10.0, 90_000_000, 1.0, 0.0)],
            },
        ),
        [
            "| Shoal | 1,000 | 1.00 (1.00 – 1.00) | 0.20 (0.20 – 0.20) | 0.10 (0.10 – 0.10) | 500 (500 – 500) | 1 |",
            "| scrapy-redis | 500 | 16.00 (16.00 – 16.00) | 2.00 (2.00 – 2.00) | – | 50 (50 – 50) | 16.0 x",
        ],
    ),
    "fleet-lanes": (
        Lanes(
            50_000,
            Behind([Urgent(0.4, 2.0)], [Urgent(0.6, 2.5)], 40_000),
            Behind([Urgent(0.5, 2.0)], [Urgent(0.5, 2.0)], 41_000),
            0.012,
            Beside([10.0], [11.0]),
        ),
        [
            "| one for both lanes | last page | 0.40 (0.40 – 0.40) | 0.60 (0.60 – 0.60) | 1.50 x |",
            "used 1.2% of a core under the flood",
            "11.0 (11.0 – 11.0) s beside one of 50,000 on a host that answers after 5 s: 1.10 x",
        ],
    ),
    "fleet-scaling": (Scaling(6_000, [300.0], [570.0]), ["| 2 | 570 (570 – 570) | 1.90 x (1.90 – 1.90) |"]),
    "fleet-bulk": (
        Bulk(1_000_000, Submitting(62.0, 55.0, 99_000_000), 31.0, 77_000_000, 88.0),
        [
            "99 MB at its peak, 62 s, 55 s of CPU",
            "77 MB at its peak, all URLs in the frontier after 31 s",
            "88 B per URL",
        ],
    ),
    "fleet-connections": (
        Connections([Connected(100, 6, 12, 4), Connected(1_000, 6, 14, 4)]),
        ["At most 5.0 connections per process", "| 1,000 | 4 | 6 | 14 |"],
    ),
    "fleet-soak": (
        FleetSoak(
            200_000, [Look(20_000, 20.0, 20.0, 100_000_000), Look(200_000, 200.0, 218.0, 110_000_000)], 90_000_000, 0
        ),
        ["110 MB at the end, +10% against 100 MB at 20,000 pages", "| 200,000 | 110 | 1.10 | 1,000 |"],
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_told_and_the_same_when_they_were_kept(name: str, tmp_path: Path) -> None:
    figures, lines = FIGURES[name]
    result = Result(Circumstances("python -m benchmarks", "2026-01-02", "a machine", 0.5, "3.11"), figures)
    keep(tmp_path, name, result)
    assert kept(tmp_path, [name]) == {name: result}
    text = render({name: result})
    assert "## Fleet" in text
    for line in lines:
        assert line in text
