"""What lies in a worker's queues that is no message of ours: set aside and counted, while the worker goes on."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from shoal.fleet.fleet import Fleet
from shoal.fleet.message_checks import REASONS, RefusedMessage, read_control, read_task
from shoal.fleet.metric_counters import REFUSED, read_counters
from shoal.model import Requester
from shoal.practice import Shop, running
from shoal.store.jobs import Job, list_jobs
from tests.fleet.running import Running
from tests.frontier.redis_server import RedisServer

SHOP = Shop(hosts=1, products=4, troubled=False)
CONTROL = "/1.celery.pidbox"


def message(body: object = (["batch"], {}, {}), headers: object = None, **changed: Any) -> dict[str, Any]:
    """As Celery sends a slice, but for what is changed."""
    about = {"lang": "py", "task": "shoal.slice", "id": "5b7c"} | (headers if isinstance(headers, dict) else {})
    properties = {"delivery_tag": "1", "delivery_info": {"exchange": "", "routing_key": "batch"}}
    return {
        "body": base64.b64encode(json.dumps(body).encode()).decode(),
        "content-type": "application/json",
        "content-encoding": "utf-8",
        "headers": about,
        "properties": {**properties, "body_encoding": "base64"},
    } | changed


def control(method: object, **more: object) -> dict[str, Any]:
    return message({"method": method, "arguments": {}, "destination": None, **more})


GARBAGE = {
    b"garbage": "not_json",
    b"": "not_json",
    b"\xff\xfe": "not_json",
    b"[" * 100_000: "not_json",
    b'{"headers": NaN}': "not_json",
    b"[]": "not_a_message",
    b"null": "not_a_message",
    b"{}": "not_a_message",
}
MALFORMED: list[tuple[dict[str, Any], str]] = [
    (message(properties=None), "not_a_message"),
    (message(properties=[]), "not_a_message"),
    (message() | {"headers": "x"}, "not_a_message"),
    (message(headers={"id": None}), "not_a_message"),
    (message(headers={"id": {}}), "not_a_message"),
    (message(headers={"id": "a\nb"}), "not_a_message"),
    (message(headers={"task": "os.system"}), "unknown_task"),
    (message(headers={"task": ["shoal.slice"]}), "unknown_task"),
    (message(headers={"task": "celery.map"}), "unknown_task"),
    (message(headers={"eta": "2999-01-01T00:00:00"}), "bad_arguments"),
    (message(headers={"compression": "application/x-gzip"}), "content_type"),
    (message(**{"content-type": "application/x-python-serialize"}), "content_type"),
    (message(**{"content-encoding": "binary"}), "content_type"),
    (message(body=None), "not_a_message"),
    (message(body={"args": ["batch"]}), "not_a_message"),
    (message(body=[["slow"], {}, {}]), "bad_arguments"),
    (message(body=[["batch", "slow"], {}, {}]), "bad_arguments"),
    (message(body=[[], {"lane": "batch"}, {}]), "bad_arguments"),
    (message() | {"body": "%%%"}, "not_a_message"),
    (message() | {"body": 7}, "not_a_message"),
    (message(properties={"body_encoding": "rot13"}), "not_a_message"),
]
COMMANDS: list[tuple[dict[str, Any], str]] = [
    (control("shutdown"), "remote_control"),
    (control("pool_restart"), "remote_control"),
    (control("revoke"), "remote_control"),
    (control(["ping"]), "remote_control"),
    (control("ping", pattern="(a+)+$", matcher="pcre"), "remote_control"),
    (control("ping", reply_to="x"), "not_a_message"),
    (control("ping", destination={"a": 1}), "not_a_message"),
    (message("ping"), "not_a_message"),
    (message(properties=None), "not_a_message"),
]


@pytest.mark.parametrize(("item", "reason"), [*GARBAGE.items(), *((json.dumps(m).encode(), r) for m, r in MALFORMED)])
def test_an_invalid_message_is_refused_with_the_reason(item: bytes, reason: str) -> None:
    with pytest.raises(RefusedMessage) as refused:
        read_task(item, "batch")
    assert refused.value.reason == reason and reason in REASONS


@pytest.mark.parametrize(("command", "reason"), COMMANDS)
def test_only_read_only_remote_control_is_accepted(command: dict[str, Any], reason: str) -> None:
    with pytest.raises(RefusedMessage) as refused:
        read_control(json.dumps(command).encode())
    assert refused.value.reason == reason and reason in REASONS


def test_a_message_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(RefusedMessage, match="more than 8,000,000"):
        read_task(b" " * 8_000_001, "batch")


def test_only_the_needed_fields_of_a_message_are_kept() -> None:
    headers = {"timelimit": 5, "group": {}, "stamps": [], "retries": "x", "replaced_task_nesting": "x"}
    taken = read_task(json.dumps(message(headers=headers)).encode(), "batch")
    assert taken["headers"].keys() == {"lang", "task", "id", "root_id", "retries", "timelimit"}
    assert taken["headers"]["timelimit"] == [None, None]
    assert taken["properties"]["delivery_tag"] != "1"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    # Private addresses are allowed where workers run, to those who may have them.
    with Running(tmp_path_factory.mktemp("refused"), processes=1, env={"SHOAL_SLICE_S": "1"}) as running:
        yield running


def test_a_worker_continues_and_counts_discarded_messages(fleet: Running) -> None:
    (worker,) = fleet.workers
    fleet.until(lambda: "ready:" in worker.said)
    items = [*GARBAGE, *(json.dumps(each).encode() for each, _ in MALFORMED)]
    commands = [b"garbage", *(json.dumps(each).encode() for each, _ in COMMANDS)]
    with redis.from_url(fleet.broker_url) as broker:
        for item in items:
            broker.lpush("batch", item)
        for command in commands:
            # Nobody listens for a moment after it is ready.
            fleet.until(partial(broker.publish, CONTROL, command))

        def all_counted() -> bool:
            return sum(counted(fleet).values()) >= len(items) + len(commands)

        fleet.until(all_counted)
        assert broker.llen("batch") == 0
    assert worker.runs and "Traceback" not in worker.said
    assert set(counted(fleet)) == set(REASONS) - {"too_large"}
    logged = [line for line in map(json.loads, worker.said.splitlines()) if line["event"] == "message_refused"]
    assert {line["reason"] for line in logged} == set(counted(fleet)) and len(logged) == len(counted(fleet))
    first = "discarded a message in queue batch: it is not JSON; it begins with b'garbage'"
    assert any(line["message"].startswith(first) for line in logged)
    with running(SHOP) as site:
        assert fleet.until_ended(fleet.submit(site.url(), "--rate", "50"))["state"] == "done"


def counted(fleet: Running) -> dict[str, int]:
    async def look(opened: Fleet) -> dict[str, int]:
        return {series[1]: n for series, n in (await read_counters(opened.frontier)).items() if series[0] == REFUSED}

    return fleet.by_hand(look)


def jobs(fleet: Running) -> list[Job]:
    async def look(opened: Fleet) -> list[Job]:
        return list_jobs(opened.store, 10)

    return fleet.by_hand(look)


REFUSED_JOBS: list[tuple[dict[str, Any], str]] = [
    ({"options": {"allow_private": True}}, "no job may have allow_private"),
    ({"rules": {"start": ["http://127.0.0.1/"], "options": {"header": ["a: b"]}}}, "no job may have headers"),
    ({"options": {"proxy": ["http://127.0.0.1:1"]}}, "no job may have proxies"),
    ({"options": {"ignore_robots": True}}, "no job may have politeness.robots"),
    ({"options": {"rate": 0}}, "no job may have politeness.rate"),
    ({"options": {"lane": "express"}}, "no job may have lane express"),
    ({"spider": "os.path:join"}, "SHOAL_SPIDERS"),
    ({"urls": "x"}, "urls of shoal.submit"),
    ({"urls": [7]}, "must be a list of texts"),
    ({"colour": "x"}, "colour of shoal.submit"),
]


def test_a_job_from_the_broker_cannot_have_admin_options(fleet: Running) -> None:
    before = len(jobs(fleet))
    for asked, _ in REFUSED_JOBS:
        send(fleet, **{"urls": ["http://127.0.0.1/"], **asked})
    fleet.until(lambda: fleet.workers[0].said.count("submit_refused") == len(REFUSED_JOBS))
    assert [said for _, said in REFUSED_JOBS if said not in fleet.workers[0].said] == []
    assert len(jobs(fleet)) == before


def test_a_job_from_the_broker_has_submitter_rights_and_reaches_no_private_address(
    fleet: Running, tmp_path: Path
) -> None:
    with running(SHOP, log=tmp_path / "site.log") as site:
        send(fleet, urls=[site.url()], options={"name": "sent"})
        (job,) = fleet.until(lambda: [job for job in jobs(fleet) if job.spec.name == "sent"])
        assert job.spec.asked_by is Requester.SUBMITTER
        assert fleet.until_ended(job.id)["dropped"] == {"address_refused": 1}
        assert site.log() == []


def test_the_acl_that_the_docs_give_lets_a_program_send_jobs_and_nothing_else(tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs" / "operate.md"
    (line,) = re.findall(r"^ACL SETUSER .+$", docs.read_text(), flags=re.MULTILINE)
    with RedisServer(tmp_path) as server:
        server.client.execute_command(*line.split())
        with Celery(broker=f"redis://submitter:secret@127.0.0.1:{server.port}/1") as app:
            app.send_task("shoal.submit", kwargs={"urls": []}, queue="express", retry=False)
        with redis.Redis(port=server.port, db=1, username="submitter", password="secret") as submitter:
            assert submitter.llen("express") == 1
            for words in (["LPUSH", "batch", "x"], ["BRPOP", "express", "1"], ["GET", "{shoal:0}:shard"], ["FLUSHALL"]):
                with pytest.raises(redis.exceptions.NoPermissionError):
                    submitter.execute_command(*words)


def send(fleet: Running, **asked: object) -> None:
    with Celery(broker=fleet.broker_url) as app:
        app.send_task("shoal.submit", kwargs=asked, queue="express")
