"""Crawls whose pages a browser loads, as users run them: what they give, what they keep, and what they leave behind."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator

from shoal import Item, Page, css, spider, xpath
from shoal.embedded.report import Report
from shoal.engine.reading.auto_render import RENDERED_AFTER
from shoal.practice import Running, Shop, running
from shoal.practice.account import PASSWORD, USER
from shoal.store.crawl.learnt_counts import load_learnt_counts
from shoal.store.store import Store
from tests.browser.rendering import browser_of, processes_of_session
from tests.cli.conftest import Here

pytestmark = pytest.mark.usefixtures("program")
HOST = "127.0.0.1"
SMALL = Shop(seed=7, hosts=1, categories=2, products=10, per_page=5)
PAGES = ("plain", "list", "scroll", "more", "late", "poll", "chain", "either", "shadow-open", "shadow-closed")
ALL_THERE = {"wait": "body[data-done]", "timeout": 60}
"""Scripts of these pages set it when the last product is there. A machine under load pauses between two calls."""
STEPS: dict[str, list[Any]] = {
    "scroll": ["scroll"],
    "more": [{"click": "#more", "until_gone": True}],
    **{name: [ALL_THERE] for name in ("list", "late", "poll", "chain", "shadow-open", "shadow-closed")},
}
SPIDER = """
from shoal import Item, css, spider, xpath

class Product(Item, key="upc"):
    upc: str = xpath("@data-upc")

@spider(scope="listed", render="always", rate=0, allow_private=True)
def shop(page):
    yield from page.each("article", Product)
    yield from page.follow("h3 a", to=product)

@shop.callback
def product(page):
    yield from page.each("article", Product)
"""


class Product(Item):
    upc: str = xpath("@data-upc")
    name: str = css("h3 a::attr(title)")
    price: str = css(".price_color")
    stock: int = css(".stock")


def wait_until(condition: Callable[[], bool], what: str, deadline_s: float = 60.0) -> None:
    give_up = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < give_up, what
        time.sleep(0.02)


def items_by_page(report: Report) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for item in report.items():
        del item["_type"]
        found.setdefault(item.pop("page"), []).append(item)
    return found


def test_a_spider_gets_the_same_items_with_scripts_as_without(shop_site: Running, shop: Shop, tmp_path: Path) -> None:
    seen: dict[str, Page] = {}

    @spider(shop_site.url("/app/"), rate=0, allow_private=True, timeout=60)
    def front(page: Page) -> Iterator[Any]:
        for name in PAGES:
            steps = STEPS.get(name, [])
            yield page.request(f"/app/{name}.html", listed, render=name != "plain", steps=steps)

    @front.callback
    def listed(page: Page) -> Iterator[Any]:
        name = page.url.rpartition("/")[2].removesuffix(".html")
        seen[name] = page
        for product in page.each("article.product_pod", Product):
            yield {**product.model_dump(), "page": name}

    report = front.run(tmp_path)
    assert report.overview.state == "done"
    assert items_by_page(report) == dict.fromkeys(PAGES, shop.items(HOST))
    assert [bool(seen[name].rendered) for name in PAGES] == [False] + [True] * 9
    by_script = seen["list"].rendered
    assert by_script is not None and b"<article" not in by_script.document
    calls = [call.data for call in seen["list"].calls("/api/products*")]
    assert sum(len(call["products"]) for call in calls) == len(shop.items(HOST)) and not seen["plain"].calls()
    via = Counter(page["via"] for page in report.pages())
    assert via == {"browser": 9, "http": 2}


def test_a_login_by_steps_serves_plain_requests(shop_site: Running, tmp_path: Path) -> None:
    @spider(shop_site.url("/app/plain.html"), rate=0, allow_private=True)
    def login(page: Page) -> Iterator[Any]:
        steps = [
            {"fill": "[name=user]", "value": USER},
            {"fill": "[name=password]", "value": PASSWORD},
            {"select": "select", "value": "here"},
            {"submit": "button"},
            {"wait": "#orders"},
        ]
        yield page.request("/app/login.html", logged_in, steps=steps)

    @login.callback
    def logged_in(page: Page) -> Iterator[Any]:
        yield page.request("/app/orders-plain.html", orders, render=False)

    @login.callback
    def orders(page: Page) -> Iterator[Any]:
        yield {"rows": len(page.css("tr")), "rendered": page.rendered is not None}

    items = list(login.run(tmp_path).items())
    assert len(items) == 1 and items[0]["rows"] > 0 and items[0]["rendered"] is False


def test_rules_name_steps_and_the_archive_has_what_the_browser_saw(
    shop_site: Running, shop: Shop, tmp_path: Path
) -> None:
    rules = {
        "start": shop_site.url("/app/"),
        "follow": [
            {"css": "a[href*=more]", "to": "all", "render": "always", "steps": [{"click": "#more", "until_gone": True}]}
        ],
        "pages": {"all": {"items": [{"each": "article", "fields": {"price": ".price_color"}}]}},
    }
    (tmp_path / "rules.yaml").write_text(json.dumps(rules))
    shoal = Here(tmp_path)
    ran = shoal.crawl("rules.yaml", "--screenshot", "--viewport", "mobile")
    assert ran.code == 0, ran.err
    assert ran.summary["items"] == len(shop.items(HOST))
    (segment,) = (shoal.home / "archive").glob("*/*.warc.gz")
    kinds: Counter[str] = Counter()
    with segment.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            name = record.rec_headers.get_header("WARC-Target-URI") or ""
            body = record.content_stream().read()
            kinds[record.rec_type if record.rec_type != "resource" else name.rpartition(":http")[0]] += 1
            assert not name.startswith("urn:dom:") or body.count(b"<article") == len(shop.items(HOST))
    assert kinds == {"warcinfo": 1, "response": 5, "request": 5, "urn:dom": 1, "urn:view": 1}
    again = shoal("extract", "last", "--rules", "rules.yaml", "--json")
    assert again.code == 0 and len(shoal("items", "last", "--json").lines) == len(shop.items(HOST)), again.err


def test_without_a_browser_one_line_says_what_to_install(shop_site: Running, tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    words = "crawl", shop_site.url("/app/list.html"), "--allow-private", "--max-depth", "0"
    asked = "--render", "always", "--block", "*.css"
    ran = shoal(*words, *asked, "-o", "pages.jsonl", env={"SHOAL_BROWSER": "/no/such"})
    assert ran.code == 2 and not (tmp_path / "pages.jsonl").exists()
    assert ran.err.splitlines()[-1].startswith("error: SHOAL_BROWSER is '/no/such', which is not a program: install it")
    resumed = shoal("resume", "last", "--json")
    assert resumed.code == 0 and resumed.summary["pages"] > 0
    assert "rendering   always, without *.css" in shoal("job", "last").out
    plain = shoal(*words, "--render", "auto", env={"SHOAL_BROWSER": "/bin/false"})
    assert plain.code == 0 and plain.err.count("/bin/false does not start") == 1, plain.err
    assert "not_rendered x1" in shoal("job", "last").out


def test_a_terminal_says_that_the_crawl_is_starting_while_its_browser_does(tmp_path: Path) -> None:
    # Not in tmp_path: as root, the browser gets a user of its own, who may not enter that.
    folder = Path(mkdtemp())
    folder.chmod(0o755)
    slow, go = folder / "slow", folder / "go"
    slow.write_text(f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.1; done\nexit 1\n")
    slow.chmod(0o755)
    env = {"SHOAL_BROWSER": str(slow), "TERM": "xterm"}
    ours, theirs = pty.openpty()
    words = "crawl", "http://127.0.0.1:1/", "--allow-private", "--render", "always"
    with Here(tmp_path).start(*words, stderr=theirs, env=env) as process:
        said = b""
        while b" starting" not in said and select.select([ours], [], [], 60)[0]:
            said += os.read(ours, 1_000)
        go.touch()
        assert process.wait() == 2 and b" starting" in said, said
    os.close(ours)
    os.close(theirs)
    rmtree(folder)


def test_kills_of_the_crawl_and_of_its_browser_lose_and_leave_nothing(tmp_path: Path) -> None:
    shop = SMALL
    (tmp_path / "shop.py").write_text(SPIDER)
    shoal = Here(tmp_path)
    with running(shop, log=tmp_path / "visits.jsonl") as site:
        url = site.url("/app/list.html")

        def products_seen() -> int:
            return sum(entry.path.startswith("/app/product/") for entry in site.log())

        with shoal.start("crawl", "shop.py:shop", url, "--quiet", "--scope", "host") as process:
            wait_until(lambda: products_seen() >= 3, "no product was fetched")
            killed = browser_of(process.pid)
            assert killed is not None
            os.killpg(killed, signal.SIGKILL)
            wait_until(lambda: products_seen() >= 6, "no product was fetched after the browser's end")
            browser = browser_of(process.pid)
            assert browser is not None
            process.send_signal(signal.SIGKILL)
        wait_until(lambda: not processes_of_session(browser), "the browser outlived its crawl")
        assert not processes_of_session(killed)
        resumed = shoal("resume", "last", "--json")
    assert resumed.code == 0, resumed.err
    assert resumed.summary["pages"] == 1 + len(shop.items(HOST)) and resumed.summary["dead"] == 0
    rows = shoal("items", "last", "--json").lines
    assert sorted(row["upc"] for row in rows) == sorted(str(item["upc"]) for item in shop.items(HOST))


def test_a_host_rests_for_what_its_pages_call(shop_site: Running, tmp_path: Path) -> None:
    """`chain.html` asks its host six times: the document, a style, a script and three calls. One of them is charged."""
    before = len(shop_site.log())

    @spider(shop_site.url("/app/chain.html"), rate=2, per_host=1, allow_private=True, render="always")
    def chain(page: Page) -> Iterator[Any]:
        yield page.request("/app/plain.html", last, render=False)

    @chain.callback
    def last(page: Page) -> None: ...

    chain.run(tmp_path)
    starts = {entry.path: entry.t_start for entry in shop_site.log()[before:]}
    assert starts["/app/plain.html"] - starts["/app/chain.html"] >= 0.9


def test_auto_renders_what_shows_too_little_and_learns_where(tmp_path: Path) -> None:
    count = len(SMALL.items(HOST))
    with running(SMALL, log=tmp_path / "visits.jsonl") as site:

        @spider(site.url("/app/plain.html"), rate=0, per_host=1, allow_private=True, render="auto")
        def auto(page: Page) -> Iterator[Any]:
            yield from page.each("article.product_pod", Product)
            if page.url.endswith("/plain.html"):
                yield from one_after_another(page, [link.attr("href") for link in page.css("h3 a")])
                yield page.request("/app/moved.html")

        @auto.callback
        def product(page: Page) -> Iterator[Any]:
            yield {"name": page.css("h1")[0].text}
            yield from one_after_another(page, page.meta["rest"])

        def one_after_another(page: Page, urls: list[Any]) -> Iterator[Any]:
            # So that what one page gained is known before the next is fetched.
            if urls:
                yield page.request(urls[0], to=product, meta={"rest": urls[1:]})

        report = auto.run(tmp_path / "home")
        log = Counter(entry.path for entry in site.log())
    assert Counter(item["_type"] for item in report.items()) == {"Product": 2 * count, "dict": count}
    assert {page["url"].rpartition("/")[2]: page["via"] for page in report.pages()}["plain.html"] == "http"
    # The script that leads to the list ran in a browser, and so does the list.
    assert report.overview.stored.rendered == {"/app/product/*.html": count, "/app/*.html": 1}
    assert (log["/app/plain.html"], log["/app/moved.html"], log["/app/list.html"]) == (1, 2, 1)
    twice = sum(n == 2 for path, n in log.items() if path.startswith("/app/product/"))
    assert 2 <= twice <= 6
    # A run that resumes the crawl knows it.
    with Store.open(report.database) as store:
        learnt = load_learnt_counts(store, report.overview.job.id)
    assert [n >= RENDERED_AFTER for (kind, key), n in learnt.items() if "/product/" in key] == [True]
