"""`shoal scrapy import`: a crawl that scrapy-redis has begun continues with what it had queued and seen."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from scrapy import FormRequest, Request

from shoal.practice.process import Running
from tests.cli.conftest import Here
from tests.frontier.redis_server import RedisServer
from tests.scrapy.crawling import PROJECT, run_apart, run_spiders


class RunsCode:
    """What an attacker would push."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("/tmp/never",)


def _pickled(request: Request, **fields: Any) -> bytes:
    """As its PriorityQueue and its default serializer write it."""
    return pickle.dumps({**request.to_dict(), "errback": None, **fields}, protocol=-1)


def _seen(method: str, url: str, body: bytes = b"") -> str:
    """As its RFPDupeFilter writes it."""
    data = {"method": method, "url": url, "body": body.hex()}
    return hashlib.sha1(json.dumps(data, sort_keys=True).encode()).hexdigest()


@dataclass
class HereWithRedis(Here):
    redis: str

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SHOAL_REDIS_URL": self.redis}


@pytest.fixture
def shoal(tmp_path: Path, redis: RedisServer) -> Here:
    return HereWithRedis(tmp_path, redis.url)


def _import(shoal: Here, spider: str, *words: str) -> Any:
    # A project changes the folder and the path of its process.
    command = ["scrapy", "import", spider, "--project", str(PROJECT), "--home", str(shoal.home), "--json", *words]
    ran = run_apart(shoal.folder, "shoal", *command, cwd=shoal.folder, env=shoal.environment)
    return ran, json.loads(ran.out.splitlines()[0])


def test_queued_requests_are_fetched_and_seen_ones_are_not(
    shop: Running, tmp_path: Path, redis: RedisServer, shoal: Here
) -> None:
    site = shop.url("").rstrip("/")
    home = _pickled(Request(f"{site}/", meta={"from": ("start", 1)}), callback="parse")
    contact = Request(f"{site}/contact.html", dont_filter=True, cb_kwargs={"place": 1})
    redis.client.zadd("plain:requests", {home: 0, _pickled(contact, callback="parse_category"): -5})
    seen, garden = "/category/kitchen/index.html", "/category/garden/index.html"
    redis.client.sadd("plain:dupefilter", _seen("GET", f"{site}/"), _seen("GET", f"{site}{seen}"))
    ran, done = _import(shoal, "plain")
    assert ran.code == 0, ran.err
    assert (done["queued"], done["known"], done["seen"], done["left_out"]) == (2, 0, 1, 0)
    # Again: the job knows everything.
    assert _import(shoal, "plain")[1] == {**done, "queued": 0, "known": 2, "seen": 0}
    before = len(shop.log())
    run_spiders(["plain"], shop, tmp_path, SHOAL_HOME=str(shoal.home), SHOAL_REDIS_URL=redis.url)
    visits = Counter(visit.path for visit in shop.log()[before:])
    assert visits[seen] == 0 and visits["/"] == visits["/contact.html"] == visits[garden] == 1
    job = json.loads(shoal("--json", "jobs").out)
    assert (job["id"], job["state"]) == (done["id"], "done")


def test_what_a_pickle_names_is_loaded_only_if_it_is_allowed(redis: RedisServer, shoal: Here) -> None:
    form = FormRequest("http://x.example/login", formdata={"user": "ann"})
    item = pickle.dumps({**Request("http://x.example/").to_dict(), "meta": {"bad": RunsCode()}}, protocol=-1)
    dated = _pickled(form, meta={"at": datetime(2026, 1, 2), "tags": {"a"}}, callback="parse_orders")
    unknown = _pickled(Request("http://x.example/2"), callback="no_such_method")
    redis.client.lpush("login:requests", item, dated, unknown, b"\x80torn", b'{"url": "http://x.example/3"}')
    ran, done = _import(shoal, "login")
    assert ran.code == 2 and "3 requests left out: they are still in Redis" in ran.out
    assert (done["queued"], done["left_out"]) == (2, 3)
    first, second, third = done["why_left_out"]
    assert "its pickle names posix.mkdir: if you trust that class, allow it with --allow posix.mkdir" in first
    assert "http://x.example/2: the spider has no method 'no_such_method'" in second
    assert "neither a pickle nor JSON" in third
    assert not Path("/tmp/never").exists()
    assert redis.client.llen("login:requests") == 5
    queued = shoal("--json", "explain", done["id"], "http://x.example/3")
    assert queued.code == 0


def test_what_cannot_be_imported_is_an_error_that_says_why(redis: RedisServer, shoal: Here) -> None:
    ran, _ = _import(shoal, "nobody")
    assert ran.code == 2 and "the project has no spider 'nobody': it has blocking, errors, gallery" in ran.err
    redis.client.set("plain:requests", "x")
    ran, _ = _import(shoal, "plain")
    assert ran.code == 2 and "plain:requests in Redis is a string, not a list or zset" in ran.err
    ran, _ = _import(shoal, "map", "--allow", "no.such.Class")
    assert ran.code == 2 and "no.such.Class cannot be allowed" in ran.err
