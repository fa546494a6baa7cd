"""Workers killed and told to end in mid-crawl: what they held returns, and only what was in flight is fetched again."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

from shoal.fleet.life import signs
from shoal.fleet.roster import ALIVE_S
from tests.fleet.running import Running
from tests.fleet.shopping import LATENCY_MS, PER_HOST, SHOP, Shopping, shopping
from tests.politeness import fetched_more_than_once

IN_FLIGHT = PER_HOST * SHOP.hosts
SPREAD = {"SHOAL_CONCURRENCY": "2"}
"""So little in each process that all have some."""
KILLS = 6
ASKED_BETWEEN_KILLS = 12
LEAVES_WITHIN_S = 20.0
PAUSES = 2
ASKED_BETWEEN_PAUSES = 25
LONGEST_PAUSE_S = 7.0
"""Longer than a lease."""


def test_kills_of_children_and_workers_lose_nothing_and_repeat_only_what_was_in_flight(tmp_path: Path) -> None:
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


def test_a_worker_that_is_told_to_end_gives_back_what_does_not_end_soon(tmp_path: Path) -> None:
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


def test_a_worker_that_is_told_to_end_saves_what_ends_soon_and_others_go_on(tmp_path: Path) -> None:
    with shopping(tmp_path, workers=2, processes=1, env=SPREAD) as shop:
        first, second = shop.fleet.workers
        shop.until_asked(20)
        first.terminate()
        assert first.ended(LEAVES_WITHIN_S) == 0, first.said
        # Also of robots.txt: both workers needed those of all hosts.
        shop.assert_unharmed(repeats=0)
        assert second.runs


def test_a_worker_whose_processes_have_saved_all_leaves_though_celery_waits_for_one(tmp_path: Path) -> None:
    with Running(tmp_path, processes=1) as fleet:
        (worker,) = fleet.workers
        (child,) = [sign for sign in signs(fleet.home) if sign.role == "child"]
        os.kill(child.pid, signal.SIGSTOP)
        # As if it had ended all it does but itself.
        child.bury()
        worker.terminate()
        assert worker.ended(LEAVES_WITHIN_S) == 0, worker.said
        assert "worker_left" in worker.said
        fleet.until(lambda: not Path(f"/proc/{child.pid}").exists())


def test_a_process_that_is_killed_is_told_of_by_its_signal_and_what_returned_and_without_a_trace(
    tmp_path: Path,
) -> None:
    with shopping(tmp_path, processes=1) as shop:
        (worker,), (child,) = shop.fleet.workers, shop.fleet.until(shop.fleet.children)
        shop.until_asked(5)
        os.kill(child, signal.SIGKILL)
        shop.fleet.until(lambda: f"process {child} died" in worker.said and "SIGKILL" in worker.said)
        # Long before its entry would end by itself.
        shop.fleet.until(lambda: child not in {entry.pid for entry in shop.fleet.roster()}, ALIVE_S / 3)
        lines = [json.loads(line) for line in worker.said.splitlines()]
        assert [line["level"] for line in lines if "SIGKILL" in line["message"]] == ["error"]
        assert "Traceback" not in worker.said


def test_random_pauses_of_everything_are_no_worse_than_waiting(tmp_path: Path) -> None:
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
