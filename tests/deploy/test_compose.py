"""compose.yaml holds what it promises: every service of it, run here, makes one whole crawl."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from shoal.control.request_bodies import HELD_BYTES
from shoal.practice import Shop, running
from tests.deploy.composed import ROOT, VARIABLES, Composed, services
from tests.frontier.redis_server import serves_strangers

WITHIN_S = 120.0


def called(composed: Composed, method: str, path: str, body: Any = None) -> Any:
    token = (composed.home / "admin-token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    url = f"http://127.0.0.1:{composed.api_port}/api/v1{path}"
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=30) as answer:
        return json.load(answer)


def test_its_services_as_processes_make_one_whole_crawl(tmp_path: Path) -> None:
    shop = Shop(hosts=1, categories=2, products=10, troubled=False)
    with (
        running(shop, log=tmp_path / "site.log") as site,
        Composed(tmp_path, {"SHOAL_ALLOW_PRIVATE": "on", "HOME": str(tmp_path)}) as composed,
    ):
        order = {"urls": [site.url()], "politeness": {"rate": 0}}
        job = called(composed, "POST", "/jobs", order)["id"]
        deadline = time.monotonic() + WITHIN_S
        while (figures := called(composed, "GET", f"/jobs/{job}"))["state"] not in ("done", "failed"):
            assert time.monotonic() < deadline, "\n".join(map(composed.said, composed.processes))
            time.sleep(0.2)
        assert figures["state"] == "done" and figures["pages"] > 10 and not figures["dead"]
        for name in composed.processes:
            assert composed.health(name) == 0, name
        assert not serves_strangers(composed.redis_port)
        assert VARIABLES["REDIS_PASSWORD"] not in " ".join(composed.command("redis"))
        roles = {json.loads(line)["role"] for name in ("api", "tend", "worker") for line in lines(composed, name)}
        assert roles == {"api", "tend", "worker", "child"}
        for name in ("worker", "tend", "api", "redis"):
            assert composed.end(name) == 0, composed.said(name)


def lines(composed: Composed, name: str) -> list[str]:
    """What it logged, as JSON."""
    return [line for line in composed.said(name).splitlines() if line.startswith("{")]


def test_images_are_pinned_and_every_service_is_bounded_and_watched() -> None:
    for name, service in services(VARIABLES).items():
        assert re.search(r":\d+\.\d+", service["image"]), name
        if service["restart"] != "no":
            assert service["healthcheck"]["test"][0] == "CMD" and "stop_grace_period" in service, name
        if "build" in service:
            assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["init"], name
    assert {"api", "worker", "tend", "redis", "postgres"} <= services(VARIABLES).keys()


def test_only_this_machine_reaches_the_api_and_nobody_the_servers() -> None:
    for name, service in services(VARIABLES).items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        assert name == "api" or "ports" not in service


def test_the_api_has_room_for_the_bodies_that_it_may_hold() -> None:
    service = services(VARIABLES)["api"]
    assert "--processes" not in service["command"]
    assert int(service["mem_limit"].removesuffix("m")) << 20 >= 1.5 * HELD_BYTES


def test_a_missing_password_is_told_before_anything_starts() -> None:
    for name in VARIABLES:
        with pytest.raises(AssertionError, match=f"set {name}"):
            services({**VARIABLES, name: ""})


def test_the_image_is_built_in_stages_and_runs_as_nobody_in_exec_form() -> None:
    text = (ROOT / "Dockerfile").read_text()
    *_, last = re.split(r"^FROM ", text, flags=re.MULTILINE)
    assert len(re.findall(r"^FROM python:3\.11[\w.-]*slim", text, flags=re.MULTILINE)) == 2
    assert re.search(r"^USER (?!0|root)\d+:\d+$", last, flags=re.MULTILINE)
    for instruction in ("ENTRYPOINT", "CMD"):
        assert re.search(rf'^{instruction} \["', last, flags=re.MULTILINE)
    assert "pip install" not in last
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = {
        word for words in re.findall(r"^COPY (?!--)(.+)$", text, flags=re.MULTILINE) for word in words.split()[:-1]
    }
    assert copied == set(kept) and all((ROOT / name).exists() for name in kept)
