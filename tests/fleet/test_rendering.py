"""Pages that need a browser, on a fleet: only workers that have one get them, whatever is killed meanwhile."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from shoal.browser.find_browser import BrowserMissing, find_browser
from shoal.practice import Shop, running
from tests.browser.rendering import browser_of, processes_of_session
from tests.browser.test_crawls import SPIDER, wait_until
from tests.fleet.running import Role, Running
from tests.politeness import max_in_window

HOST = "127.0.0.1"
SHOP = Shop(seed=7, hosts=1, categories=2, products=10, per_page=5)
RATE = 4.0


@pytest.fixture(autouse=True)
def _browser() -> None:
    try:
        find_browser()
    except BrowserMissing as missing:
        assert os.environ.get("CI") != "true", str(missing)
        pytest.skip(str(missing))


def test_a_job_waits_for_workers_with_a_browser_and_survives_their_ends(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SPIDER)
    with running(SHOP, log=tmp_path / "visits.jsonl") as site, Running(tmp_path, workers=1, processes=1) as fleet:
        job = fleet.submit("shop.py:shop", site.url("/app/list.html"), "--scope", "host", "--rate", str(RATE))
        fleet.until(lambda: fleet.figures(job)["limiting"])
        needed = "no worker has a browser, and its pages need one: shoal worker --browsers 1"
        assert fleet.figures(job)["limiting"] == needed and fleet.standing(job).figures.pages == 0
        first, second = (fleet.start_worker("--browsers", "1") for _ in range(2))
        fleet.until_pages(job, 2)
        browsers = [browser for worker in (first, second) for browser in browsers_of(fleet, worker)]
        first.kill()
        fleet.until_pages(job, 4)
        for child in fleet.children(second):
            os.kill(child, signal.SIGKILL)
        fleet.until_pages(job, 6)
        for browser in browsers_of(fleet, second):
            browsers.append(browser)
            os.killpg(browser, signal.SIGKILL)
        figures = fleet.until_ended(job)
        browsers += browsers_of(fleet, second)
        rows = fleet("items", job, "--json").lines
        log = site.log()
    assert figures["state"] == "done" and figures["dead"] == 0
    assert figures["pages"] == 1 + len(SHOP.items(HOST))
    assert sorted(row["upc"] for row in rows) == sorted(str(item["upc"]) for item in SHOP.items(HOST))
    assert len(browsers) >= 3
    wait_until(lambda: not any(map(processes_of_session, browsers)), "browsers outlived their workers")
    documents = [entry for entry in log if entry.path == "/app/list.html" or entry.path.startswith("/app/product/")]
    # Only what was in flight at a kill is fetched again.
    assert sum(n - 1 for n in Counter(entry.path for entry in documents).values()) <= 12
    assert max_in_window(documents, HOST) <= RATE + 1


def browsers_of(fleet: Running, worker: Role) -> list[int]:
    return [found for child in fleet.children(worker) if (found := browser_of(child)) is not None]


WITH_PLAIN = SPIDER.replace(
    "\n@shop.callback\ndef product(",
    """
    for path in ("/", "/app/either.html"):
        yield page.request(path, to=plain, render=False)

@shop.callback
def plain(page):
    return []

@shop.callback
def product(""",
)
"""The start page requests plain pages too, after those that need a browser."""


NONE = "no worker has a browser, and its pages need one"


@pytest.mark.parametrize(
    ("spider", "before", "vias", "words"),
    [
        (
            WITH_PLAIN.replace('render="always", ', "").replace("to=product)", "to=product, render=True)"),
            3,
            {"http": 3, "browser": 10},
            (),
        ),
        (WITH_PLAIN.replace('render="always"', 'render="auto"'), 3, {"http": 3, "browser": 10}, ()),
        (WITH_PLAIN.replace('render="always"', 'render="auto"'), 3, {"http": 3, "browser": 10}, ("--browsers", "1")),
        (WITH_PLAIN, 0, {"http": 2, "browser": 11}, ()),
    ],
    ids=["asked", "auto", "auto-and-one-does-not-start", "always"],
)
def test_only_requests_that_need_a_browser_wait_for_one(
    tmp_path: Path, spider: str, before: int, vias: dict[str, int], words: tuple[str, ...]
) -> None:
    """`before`: the pages that workers without one fetch until then. `words` begin the first worker."""
    (tmp_path / "shop.py").write_text(spider)
    with running(SHOP, log=tmp_path / "visits.jsonl") as site, Running(tmp_path, workers=0, processes=1) as fleet:
        usual, fleet.env = fleet.env, fleet.env | {"SHOAL_BROWSER": "/bin/false"}
        fleet.start_worker(*words)
        fleet.env = usual
        job = fleet.submit("shop.py:shop", site.url("/app/plain.html"), "--scope", "host")
        needed = "no worker's browser starts, and its pages need one: /bin/false does not start" if words else NONE
        fleet.until(lambda: needed in (fleet.figures(job)["limiting"] or ""))
        assert fleet.standing(job).figures.pages == before
        fleet.start_worker("--browsers", "1")
        figures = fleet.until_ended(job)
        found = Counter(row["via"] for row in fleet("pages", job, "--json").lines)
        assert f"rendered    {vias['browser']} of {sum(vias.values())} pages: /app/" in fleet("job", job).out
    assert figures["dead"] == 0 and found == vias
