"""Two tenants of one fleet: whatever the first asks for, the job of the second ends whole and in its time.

Its time depends on what else the machine does, so it is judged only by `make tenants`, which runs nothing beside it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from shoal.fleet.fleet import Fleet
from shoal.fleet.submit import read_request, submit
from shoal.model import Requester
from shoal.practice import Shop, running
from shoal.store.fleet.tokens import TokenScope
from tests.control.live import Live, make_tokens, serving
from tests.fleet.running import Running

TIMED = bool(os.environ.get("SHOAL_TIMED"))
SHOP = Shop(hosts=10, categories=3, products=86 if TIMED else 20, troubled=False)
PAGES = sum(len(known.pages) for known in SHOP.truth().values())
RATE = 10.0
FACTOR = 1.5

SPANS = "<table>" + "<tr>" + "<td rowspan=9000 colspan=9000>x" * 40 + "</table>"
HOSTILE_PAGES = {
    "/": "".join(f"<a href=/{name}/{n}>{n}</a>" for name in ("spans", "deep", "wide") for n in range(20)),
    "/spans": f"<title>Spans</title><article><p>{'words ' * 50}{SPANS * 4}</article>",
    "/deep": "<div>" * 400 + "<p>text" + "<b>" * 400,
    "/wide": "<title>Wide</title>" + "<p><i>x</i></p>" * 15_000,
}
COSTLY_XPATH = "//*[count(//*[count(//*[count(//*) > 0]) > 0]) > 0]"
COSTLY_CSS = "p:nth-last-child(odd) i:nth-last-child(1)"


class HostilePages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = HOSTILE_PAGES.get("/" + self.path.split("/")[1], "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def hostile_pages() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.77", 0), HostilePages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.77:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with (
        running(SHOP) as site,
        Running(tmp_path, processes=2, env={"SHOAL_ALLOW_PRIVATE": "on", "SHOAL_MAX_RATE": "100"}) as fleet,
        serving(fleet.environment, tmp_path) as (url, pid),
    ):
        yield Live(fleet, site, url, fleet.by_hand(make_tokens), pid)


def begin(live: Live) -> str:
    """A job of the second tenant; by hand, because over the API no submitter reaches the hosts of a test."""
    urls = [live.site.url("/", host) for host in SHOP.addresses]
    options = {"rate": RATE, "per_host": 4, "allow_private": True, "no_archive": True}

    async def hand_over(fleet: Fleet) -> str:
        sources, spec = read_request(fleet.settings, urls, None, None, options, Requester.ADMIN)
        return (await submit(fleet, sources, spec, owner="second")).id

    return live.fleet.by_hand(hand_over)


def crawl_s(live: Live, job: str) -> float:
    began_at = time.monotonic()
    live.fleet.until_ended(job)
    took_s = time.monotonic() - began_at
    figures = live.call("GET", f"/jobs/{job}")[1]
    assert (figures["state"], figures["pages"], figures["dead"], figures["queued"]) == ("done", PAGES, 0, 0)
    return took_s


def attack(live: Live, urls: list[str], **order: Any) -> int:
    """By somebody who may even reach private addresses, because every host of a test has one."""
    status, _ = live.call("POST", "/jobs", {"urls": urls, "allow_private": True, "archive": False, **order})
    assert status < 500
    return status


def numbers_at_the_ends(live: Live, page: str) -> None:
    urls = [live.site.url(f"/?attack={n}", host) for n in range(3) for host in SHOP.addresses]
    for rate in (1e-320, 5e-324, 1e-300, 1e-13, 1e300, -1.0):
        assert attack(live, urls, politeness={"rate": rate}) == 422
    for rate in (0.0001, 0.001, 0.01):
        assert attack(live, urls, politeness={"rate": rate, "per_host": 10_000}, retries=1000) == 201
    assert attack(live, urls, limits={"pages": 10**15, "bytes": 10**15, "seconds": 1e9, "depth": 10**6}) == 201
    for limits in ({"seconds": 1e300}, {"pages": 10**30}, {"bytes": -1}):
        assert attack(live, urls, limits=limits) == 422


def hostile_rules(live: Live, page: str) -> None:
    for selector in ({"xpath": COSTLY_XPATH}, {"css": COSTLY_CSS}):
        rules = {"start": [f"{page}/wide/{n}" for n in range(4)], "items": [{"fields": {"x": selector}}]}
        assert attack(live, [], rules=rules, politeness={"rate": 50}) == 201


def hostile_formats(live: Live, page: str) -> None:
    for _ in range(4):
        formats = ["main", "markdown", "tables", "metadata"]
        assert attack(live, [f"{page}/"], formats=formats, politeness={"rate": 50}) == 201


def floods(live: Live, page: str) -> None:
    """Many jobs at once, each with many URLs of hosts that do not answer."""
    for n in range(20):
        nobody = [f"http://127.0.{100 + n}.{m}:9/" for m in range(1, 100)]
        assert attack(live, nobody, politeness={"rate": 100, "per_host": 100}) == 201


def cancels(live: Live, page: str) -> None:
    """With a token of its own, which owns none of these jobs."""
    for job in live.call("GET", "/jobs")[1]["jobs"]:
        for verb in ("cancel", "pause"):
            status, _ = live.call("POST", f"/jobs/{job['id']}/{verb}", scope=TokenScope.SUBMIT)
            assert status == 404
        status, _ = live.call("PATCH", f"/jobs/{job['id']}", {"limits": {"pages": 1}}, scope=TokenScope.SUBMIT)
        assert status == 404
        assert live.call("DELETE", f"/jobs/{job['id']}", scope=TokenScope.SUBMIT)[0] in (403, 404)
    express = {"urls": ["https://example.com/"], "lane": "express"}
    assert live.call("POST", "/jobs", express, scope=TokenScope.SUBMIT)[0] == 403


ATTACKS = (numbers_at_the_ends, hostile_rules, hostile_formats, floods, cancels)
CASES: dict[str, tuple[Any, ...]] = {"all together": ATTACKS}
if TIMED:
    CASES |= {attack.__name__: (attack,) for attack in ATTACKS}


@pytest.mark.parametrize("case", CASES)
def test_whatever_one_tenant_asks_for_the_job_of_another_ends_whole_and_in_its_time(live: Live, case: str) -> None:
    alone_s = crawl_s(live, begin(live)) if TIMED else 0.0
    with hostile_pages() as page:
        job = begin(live)
        for attacks in CASES[case]:
            attacks(live, page)
        took_s = crawl_s(live, job)
    if TIMED:
        print(f"\n{case}: {took_s:.1f} s beside the other tenant, {alone_s:.1f} s alone: {took_s / alone_s:.2f} x")
        assert took_s < FACTOR * alone_s
