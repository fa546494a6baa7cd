"""A worker as an operator meets it: how it starts, what it logs, how it ends, and that Celery's own tools see it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from shoal.model import Lane
from tests.fleet.running import Role, Running
from tests.frontier.redis_server import free_port

NO_ONE_THERE = "127.0.0.1:1"


def test_a_redis_that_comes_goes_and_comes_back_is_said_once_each_way_and_worked_with(tmp_path: Path) -> None:
    with Running(tmp_path, workers=0, processes=1) as fleet:
        fleet.redis.kill()
        worker = fleet.start_worker()
        waiting = f"waiting: Redis at 127.0.0.1:{fleet.redis.port} does not answer"
        fleet.until(lambda: waiting in worker.said)
        fleet.redis.start()
        fleet.until_manned(children=1)
        fleet.until(lambda: "ready: 1 process for express, batch, slow; Redis at redis://" in worker.said)
        assert times_said(worker) == (1, 1)
        fleet.redis.kill()
        fleet.until(lambda: times_said(worker) == (2, 1))
        fleet.redis.start()
        fleet.until(lambda: times_said(worker) == (2, 2))
        # The broker is the same Redis: one that goes while slices are counted is missed there first.
        others = [line for line in worker.said.splitlines() if "the broker does not" not in line]
        assert len(others) == 5, others


def times_said(worker: Role) -> tuple[int, int]:
    """That Redis is waited for, and that it is back."""
    return worker.said.count("waiting: Redis"), worker.said.count("Redis is back")


def test_a_worker_without_its_database_says_where_and_keeps_its_password(tmp_path: Path) -> None:
    with Running(tmp_path, workers=0, tends=0, processes=1) as fleet:
        worker = fleet.start_worker(SHOAL_DATABASE_URL=f"postgresql://ann:hush@{NO_ONE_THERE}/shoal")
        fleet.until(lambda: f"waiting: postgresql://{NO_ONE_THERE}/shoal" in worker.said)
        time.sleep(0.1)
        assert worker.said.count("waiting:") == 1 and "hush" not in worker.said
        worker.terminate()
        assert worker.ended() == 0


@pytest.mark.parametrize("pool", ["solo", "threads"])
def test_another_pool_is_refused_at_start_with_the_reason(tmp_path: Path, pool: str) -> None:
    with Running(tmp_path, workers=0, tends=0) as fleet:
        worker = fleet.start_celery_worker("--pool", pool)
        assert worker.ended() == 2
        assert worker.said.startswith("error: a Shoal worker needs Celery's prefork pool")
        assert "Traceback" not in worker.said


def test_a_worker_takes_slices_of_better_lanes_first(tmp_path: Path) -> None:
    with Running(tmp_path, workers=0, tends=0, processes=1) as fleet:
        with Celery(broker=fleet.broker_url) as app:
            for lane in ("slow", "batch", "express"):
                app.send_task("shoal.slice", args=[lane], queue=lane)
        taken: list[str] = []
        with redis.Redis(port=fleet.redis.port, db=1, decode_responses=True) as broker, broker.pubsub() as events:
            # Redis tells which list was popped from, in order.
            broker.config_set("notify-keyspace-events", "El")
            events.subscribe("__keyevent@1__:rpop")
            fleet.start_worker()

            def look() -> bool:
                while event := events.get_message():
                    taken.extend([event["data"]] if event["data"] in list(Lane) else [])
                return len(taken) >= len(Lane)

            fleet.until(look)
        assert taken[:3] == ["express", "batch", "slow"]


def test_celery_and_flower_see_workers_and_their_tasks(tmp_path: Path) -> None:
    with Running(tmp_path, workers=0, tends=0, processes=1) as fleet:
        fleet.start_celery_worker("-Q", "express,batch", "--concurrency", "1", "-n", "plain@here")
        fleet.start_worker()
        fleet.until_manned(children=2, tends=0)
        fleet.until(lambda: "plain@here: OK" in _celery(fleet, "inspect", "ping", "--timeout", "5"))
        with _flower(fleet) as address, Celery(broker=fleet.broker_url) as app:
            told = fleet.until(lambda: _with_queues(_flower_says(f"{address}/api/workers?refresh=1")))
            assert {queue["name"] for queue in told["plain@here"]["active_queues"]} == {"express", "batch"}
            # The dashboard: workers that have sent events, one of them started by `shoal worker`.
            shown = fleet.until(lambda: _online(_flower_says(f"{address}/workers?json=1"), 2))
            assert "plain@here" in shown

            def shows_a_slice() -> bool:
                """A new one each time: a worker reports its tasks only after Flower has asked it to."""
                app.send_task("shoal.slice", args=["express"], queue="express")
                return "shoal.slice" in {task["name"] for task in _flower_says(f"{address}/api/tasks").values()}

            fleet.until(shows_a_slice)


def _with_queues(told: dict[str, Any]) -> dict[str, Any]:
    return told if "active_queues" in told.get("plain@here", {}) else {}


def _online(told: dict[str, Any], count: int) -> set[str]:
    names = {worker["hostname"] for worker in told.get("data", []) if worker["status"]}
    return names if len(names) == count else set()


def _celery(fleet: Running, *words: str) -> str:
    command = [sys.executable, "-m", "celery", "-A", "shoal.fleet", *words]
    return subprocess.run(command, env=fleet.environment, cwd=fleet.folder, capture_output=True, text=True).stdout


@contextmanager
def _flower(fleet: Running) -> Iterator[str]:
    pytest.importorskip("flower", reason="flower is missing: pip install flower")
    port = free_port()
    command = [sys.executable, "-m", "celery", "-A", "shoal.fleet", "flower", f"--port={port}", "--address=127.0.0.1"]
    env = fleet.environment | {"FLOWER_UNAUTHENTICATED_API": "true"}
    with subprocess.Popen(command, env=env, cwd=fleet.folder, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def _flower_says(address: str) -> dict[str, Any]:
    """Nothing while it starts."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            told: dict[str, Any] = json.load(answer)
    except OSError:
        return {}
    return told
