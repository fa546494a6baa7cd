"""What the workers of a fleet share: a login, an operator's word, the scope; and with every other way of crawling: what
comes out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from shoal.practice import Shop, running
from shoal.practice.account import ORDERS, PASSWORD
from shoal.practice.request import Answer, Visit
from tests.fleet import oracles
from tests.fleet.hosting import Meeting, hosting
from tests.fleet.running import Running
from tests.politeness import max_in_window

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = Shop(hosts=1, categories=3, products=24, troubled=False)
MIDDLING = Shop(hosts=1, categories=3, products=60, troubled=False)
MEMBER_PAGES = 12
LINKED = 20
AT_ONCE = 2
"""As many as one process fetches at once."""
BIG = b"<p>" + b"word " * 60_000
MEMBERS = """
from shoal import Page, spider

@spider({url!r}, rate=0, per_host=4, allow_private=True)
def members(page: Page):
    token = page.css("input[name=token]")[0].attr("value")
    yield page.request("login.html", to=front, form={{"token": token, "user": "ann", "password": {password!r}}})

@members.callback
def front(page: Page):
    for number in range({pages}):
        yield page.request(f"orders.html?page={{number}}", to=listed)

@members.callback
def listed(page: Page):
    yield {{"url": page.url, "orders": len(page.css("#orders tr"))}}
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two workers, whose processes fetch so little at once that a job needs several; no test here harms them."""
    env = {"SHOAL_CONCURRENCY": str(AT_ONCE)}
    with Running(tmp_path_factory.mktemp("fleet"), workers=2, env=env) as fleet:
        yield fleet


@pytest.mark.parametrize("example", ["books/books.py", "rules/books.yaml"])
def test_an_example_finds_what_it_finds_without_a_fleet(fleet: Running, tmp_path: Path, example: str) -> None:
    with running(SMALL) as site:
        text = (EXAMPLES / example).read_text().replace("127.0.0.1:8000", f"{site.addresses[0]}:{site.port}")
        copy = tmp_path / Path(example).name
        copy.write_text(text)
        job = fleet.submit(str(copy))
        expected = oracles.items_embedded(tmp_path / "embedded", str(copy))
        figures = fleet.until_ended(job)
    assert figures["items"] == len(expected) == SMALL.products
    oracles.assert_same_items(fleet, job, expected)
    oracles.assert_counted(fleet, job, figures)


def test_a_login_opens_the_members_pages_to_every_worker(fleet: Running, tmp_path: Path) -> None:
    met = Meeting(SMALL.answer, AT_ONCE, lambda visit: visit.target.startswith(f"{ORDERS}?"))
    with hosting(met.answer, hosts=1) as site:
        spider = tmp_path / "members.py"
        spider.write_text(MEMBERS.format(url=site.url("/account/login.html"), password=PASSWORD, pages=MEMBER_PAGES))
        job = fleet.submit(str(spider))
        figures = fleet.until_ended(job)
    assert (figures["state"], figures["items"]) == ("done", MEMBER_PAGES), figures
    assert all(row["orders"] == 5 for row in fleet("items", job, "--json").lines)
    assert met.more_than_one_came and set(met.statuses) == {200}


def test_a_host_override_reaches_all_workers_at_their_next_lease(fleet: Running, tmp_path: Path) -> None:
    with running(MIDDLING, log=tmp_path / "log") as site:
        job, host = fleet.submit(site.url(), "--rate", "8"), f"{site.addresses[0]}:{site.port}"
        fleet.until_pages(job, 5)
        tell(fleet, host, "--pause")
        # What was leased before is fetched, whenever its process comes to it.
        fleet.until(lambda: not fleet.standing(job).figures.leased)
        paused = len(site.log())
        time.sleep(1)
        assert len(site.log()) == paused
        tell(fleet, host, "--unpause", "--rate", "2")
        fleet.until(lambda: len(site.log()) >= paused + 5)
        assert max_in_window(site.log()[paused:], site.addresses[0]) <= 3
        tell(fleet, host, "--rate", "100")
        fleet.until_ended(job)
        oracles.assert_whole(fleet, job, MIDDLING, site)


def test_the_host_a_seed_leads_to_is_in_scope_for_every_worker_and_big_pages_are_read(fleet: Running) -> None:
    def answer(visit: Visit) -> Answer:
        if visit.host == "127.0.0.1":
            return Answer(301, b"", headers={"Location": visit.origin("127.0.0.2") + "/"})
        links = {"/": [f"/{n}" for n in range(LINKED)], "/0": ["/big"], "/big": ["/behind"]}.get(visit.path, ["/"])
        body = "".join(f"<a href='{link}'>to</a>" for link in links).encode()
        known = visit.path in ("/", "/big", "/behind") or visit.path[1:].isdecimal()
        return Answer(200 if known else 404, body + (BIG if visit.path == "/big" else b""))

    met = Meeting(answer, AT_ONCE, lambda visit: visit.path[1:].isdecimal())
    with hosting(met.answer, hosts=2) as site:
        job = fleet.submit(site.url(), "--rate", "0", "--per-host", "4")
        figures = fleet.until_ended(job)
    assert (figures["state"], figures["pages"], figures["redirects"]) == ("done", LINKED + 3, 1), figures
    assert figures["dead"] == 0 and "offsite" not in figures["skipped"]
    assert met.more_than_one_came


def test_a_plain_celery_worker_and_a_foreign_program_and_lanes_kept_apart(tmp_path: Path) -> None:
    with running(SMALL) as site, Running(tmp_path, workers=0, processes=1) as fleet:
        fleet.start_celery_worker("-Q", "express", "--concurrency", "1")
        fleet.until_manned(children=1)
        batch = fleet.submit(site.url(), "--rate", "0")
        with Celery(broker=fleet.broker_url) as app:
            asked = {"urls": ["https://example.com/"], "options": {"rate": 5, "name": "foreign"}}
            app.send_task("shoal.submit", kwargs=asked, queue="express")
        foreign = fleet.until(lambda: [row for row in fleet("jobs", "--json").lines if row["name"] == "foreign"])[0]
        assert foreign["lane"] == "batch" and fleet("cancel", foreign["id"]).code == 0
        express = fleet.submit(site.url(), "--rate", "0", "--lane", "express")
        assert fleet.until_ended(express)["state"] == "done"
        assert fleet.standing(batch).figures.pages == 0
        fleet.start_celery_worker("-Q", "express,batch", "--concurrency", "1")
        fleet.until_ended(batch)
        for job in (express, batch):
            oracles.assert_whole(fleet, job, SMALL, site)


def tell(fleet: Running, host: str, *words: str) -> None:
    ran = fleet("hosts", host, *words)
    assert ran.code == 0, ran.err
