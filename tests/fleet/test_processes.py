"""Workers killed and told to end in mid-crawl: what they held returns, and only what was in flight is fetched again."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

from shoal.fleet.heartbeat_files import last_heartbeats
from shoal.frontier.redis.shard import TAG
from tests.fleet.running import Running
from tests.fleet.shopping import LATENCY_MS, PER_HOST, SHOP, Shopping, shopping
from tests.politeness import fetched_more_than_once

IN_FLIGHT = PER_HOST * SHOP.hosts
SPREAD = {"SHOAL_CONCURRENCY": "2"}
"""So little in each process that all have some."""
KILLS = 6
ASKED_BETWEEN_KILLS = 12
LEAVES_WITHIN_S = 50.0
"""Less than what hangs would take."""
PAUSES = 2
ASKED_BETWEEN_PAUSES = 25
LONGEST_PAUSE_S = 7.0
"""Longer than a lease."""


def test_killed_children_and_workers_lose_nothing_and_only_requests_in_flight_are_repeated(tmp_path: Path) -> None:
    chance = chance_of_a_seed()
    orphans: set[int] = set()
    with shopping(tmp_path, workers=2, env=SPREAD) as shop:
        for kill in range(1, KILLS + 1):
            shop.until_asked(kill * ASKED_BETWEEN_KILLS)
            time.sleep(chance.random() * 0.2)  # the moment of the kill is what varies
            orphans |= kill_one(shop, chance, kill % 3)
        shop.assert_unharmed(repeats=KILLS * IN_FLIGHT)
        shop.fleet.until(lambda: not orphans & set(shop.fleet.children()), LEAVES_WITHIN_S)


def kill_one(shop: Shopping, chance: random.Random, which: int) -> set[int]:
    """A child, a worker with all its children, or without; gives those who live on without a worker."""
    if which == 0:
        # There are none for a moment if both workers are new.
        os.kill(chance.choice(shop.fleet.until(shop.fleet.children)), signal.SIGKILL)
        return set()
    worker = chance.choice([worker for worker in shop.fleet.workers if worker.runs])
    left = set(shop.fleet.children(worker)) if which == 2 else set()
    worker.kill_main() if left else worker.kill()
    shop.fleet.start_worker()
    return left


def test_a_stopping_worker_releases_slow_requests(tmp_path: Path) -> None:
    with shopping(tmp_path) as shop:
        (worker,) = shop.fleet.workers
        shop.until_asked(20)
        assert not fetched_more_than_once(shop.asked())
        shop.site.control(latency_ms=60_000)
        worker.terminate()
        assert worker.ended(LEAVES_WITHIN_S) == 0, worker.said
        assert shop.fleet.standing(shop.job).figures.leased == 0
        assert [entry.role for entry in shop.fleet.roster()] == ["tend"]
        assert shop.fleet.signs("worker") == shop.fleet.signs("child") == []
        shop.site.control(latency_ms=LATENCY_MS)
        shop.fleet.start_worker()
        # Those that were given back never had an answer, so that none counts as fetched twice.
        shop.assert_unharmed(repeats=0)


def test_a_stopping_worker_saves_quick_requests_and_others_continue(tmp_path: Path) -> None:
    with shopping(tmp_path, workers=2, processes=1, env=SPREAD) as shop:
        first, second = shop.fleet.workers
        shop.until_asked(20)
        first.terminate()
        assert first.ended(LEAVES_WITHIN_S) == 0, first.said
        # Also of robots.txt: both workers needed those of all hosts.
        shop.assert_unharmed(repeats=0)
        assert second.runs


def test_a_worker_with_saved_work_exits_even_if_celery_waits(tmp_path: Path) -> None:
    with Running(tmp_path, processes=1) as fleet:
        (worker,) = fleet.workers
        (child,) = [sign for sign in last_heartbeats(fleet.home) if sign.role == "child"]
        os.kill(child.pid, signal.SIGSTOP)
        # As if it had ended all it does but itself.
        child.delete_files()
        worker.terminate()
        assert worker.ended(LEAVES_WITHIN_S) == 0, worker.said
        assert "worker_left" in worker.said
        fleet.until(lambda: not Path(f"/proc/{child.pid}").exists())


def test_a_killed_process_is_logged_with_signal_and_returned_requests_without_a_traceback(
    tmp_path: Path,
) -> None:
    with shopping(tmp_path, processes=1) as shop:
        (worker,), (child,) = shop.fleet.workers, shop.fleet.until(shop.fleet.children)
        shop.until_asked(5)
        (entry,) = [entry for entry in shop.fleet.roster() if entry.pid == child]
        os.kill(child, signal.SIGKILL)
        # Lest its entry end by itself.
        shop.fleet.redis.client.persist(f"{TAG}:roster:{entry.id}")
        shop.fleet.until(lambda: f"process {child} died" in worker.said and "SIGKILL" in worker.said)
        shop.fleet.until(lambda: child not in {entry.pid for entry in shop.fleet.roster()})
        lines = [json.loads(line) for line in worker.said.splitlines()]
        assert [line["level"] for line in lines if "SIGKILL" in line["message"]] == ["error"]
        assert "Traceback" not in worker.said


def test_random_pauses_of_all_processes_only_delay_the_crawl(tmp_path: Path) -> None:
    chance = chance_of_a_seed()
    with shopping(tmp_path, workers=2, processes=1, env=SPREAD) as shop:
        for pause in range(1, PAUSES + 1):
            shop.until_asked(pause * ASKED_BETWEEN_PAUSES)
            paused = chance.choice([*shop.fleet.workers, *shop.fleet.tends])
            paused.stand_still()
            time.sleep(chance.uniform(0.2, LONGEST_PAUSE_S))  # how long it lasts is what varies
            paused.go_on()
        shop.assert_unharmed(repeats=PAUSES * IN_FLIGHT)


def chance_of_a_seed() -> random.Random:
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    return random.Random(seed)
