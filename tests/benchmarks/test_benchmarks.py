"""What the benchmark's figures rest on: whole sites, equal tasks, honest attribution. Nothing here takes the time."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser

import shoal
from benchmarks.comparison import Comparison
from benchmarks.contenders import HERE, PEERS, SHOAL
from benchmarks.items_spider import Product, products
from benchmarks.measure import CannotMeasure, Run, measure
from benchmarks.parts import MADE_SITES, PARTS, Part
from benchmarks.peak_memory import PeakMemory
from benchmarks.report import render
from benchmarks.results import Circumstances, Result, keep, kept
from benchmarks.rooms import ARCHIVE, INTERPRETER, LOOP, START_UP, room_of, shares
from benchmarks.site import address
from shoal import Request
from tests.cli.crawling import until

PAGES = 137
PACKAGE = Path(shoal.__file__).parent
FOLLOWED = {"items": "nav.pages a"}
EMPTY = Path("empty")


@pytest.fixture(params=MADE_SITES)
def part(request: pytest.FixtureRequest) -> Part:
    return PARTS[request.param]


def reached_from_front_page(root: Path, selector: str) -> set[str]:
    reached, waiting = {"index.html"}, ["index.html"]
    while waiting:
        page = LexborHTMLParser((root / waiting.pop()).read_bytes())
        links = {(link.attrs["href"] or "").removeprefix("/") or "index.html" for link in page.css(selector)}
        waiting += links - reached
        reached |= links
    return reached


def test_front_page_reaches_every_page_and_nothing_else(part: Part, tmp_path: Path) -> None:
    part.build(tmp_path, PAGES, address)
    files = {path.name for path in tmp_path.iterdir()}
    assert len(files) == PAGES
    assert reached_from_front_page(tmp_path, FOLLOWED.get(part.name, "a")) == files


def test_pages_have_22_kb(part: Part, tmp_path: Path) -> None:
    part.build(tmp_path, PAGES, address)
    mean_bytes = sum(path.stat().st_size for path in tmp_path.iterdir()) / PAGES
    assert mean_bytes == pytest.approx(22_000, rel=0.03)


def test_a_site_has_the_same_bytes_every_time(part: Part, tmp_path: Path) -> None:
    for name in ("once", "again"):
        part.build(tmp_path / name, 3, address)
    again = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert {path.name: path.read_bytes() for path in (tmp_path / "once").iterdir()} == again


def test_a_smaller_site_leaves_no_page_of_a_larger_one(part: Part, tmp_path: Path) -> None:
    for pages in (5, 3):
        part.build(tmp_path, pages, address)
    assert len(list(tmp_path.iterdir())) == 3


def test_spider_reads_every_product_of_a_page(tmp_path: Path) -> None:
    PARTS["items"].build(tmp_path, 2, address)
    found = products.test(tmp_path / "000001.html", "http://127.0.0.1/000001.html")
    items = [each for each in found if isinstance(each, Product)]
    assert [item.sku for item in items] == [f"SKU-{serial:08}" for serial in range(20, 40)]
    assert {each.url for each in found if isinstance(each, Request)} == {
        "http://127.0.0.1/",
        "http://127.0.0.1/000001.html",
    }


def test_spider_converts_what_it_reads(tmp_path: Path) -> None:
    PARTS["items"].build(tmp_path, 1, address)
    page = (tmp_path / "index.html").read_text()
    item = next(each for each in products.test(page.encode(), "http://127.0.0.1/") if isinstance(each, Product))
    assert isinstance(item.price, Decimal) and f"&pound;{item.price}<" in page
    assert isinstance(item.stock, int) and f">{item.stock} in stock<" in page
    assert isinstance(item.added, date) and f'datetime="{item.added}"' in page
    assert item.image == "http://127.0.0.1/images/0.jpg"


@pytest.mark.parametrize(
    ("stack", "room"),
    [
        (f"<module> (shoal:8);run ({PACKAGE}/engine/engine.py:9);css ({PACKAGE}/extract/document.py:3)", "extract"),
        (f"offer ({PACKAGE}/frontier/sqlite.py:9);execute (sqlalchemy/engine/base.py:3)", "frontier"),
        (f"run ({PACKAGE}/spiders/running.py:9);products ({HERE}/items_spider.py:3)", "spiders"),
        (f"save ({PACKAGE}/store/store.py:9);member ({PACKAGE}/store/archive/warc.py:3)", ARCHIVE),
        (f"found ({PACKAGE}/model.py:9)", "model"),
        (f"main ({PACKAGE}/cli/run.py:9);run (asyncio/runners.py:3)", LOOP),
        (f"main ({PACKAGE}/cli/run.py:9);perform (site-packages/pycurl/aio.py:3)", "fetch"),
        (f"main ({PACKAGE}/cli/run.py:9);_find_and_load (<frozen importlib._bootstrap>:3)", START_UP),
        ("<module> (shoal:8)", INTERPRETER),
    ],
)
def test_a_sample_belongs_to_the_innermost_room(stack: str, room: str) -> None:
    assert room_of(stack) == room


def test_shares_are_of_all_samples_and_largest_first() -> None:
    stacks = f"a ({PACKAGE}/fetch/curl.py:1) 1\nb ({PACKAGE}/store/batch.py:1) 2\nc ({PACKAGE}/store/store.py:1) 1\n"
    assert list(shares(stacks).items()) == [("store", 0.75), ("fetch", 0.25)]


@pytest.mark.parametrize(
    "code",
    [
        """print('{"type": "summary", "pages": 2, "items": 39}')""",
        """print('{"type": "summary", "pages": 2}')""",
        """print('{"type": "summary", "pages": 2, "items": 40}'); raise SystemExit(3)""",
        "",
    ],
)
def test_a_run_that_falls_short_is_no_figure(code: str, tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure):
        measure([sys.executable, "-c", code], PARTS["items"].expected(2), tmp_path, {})


def test_a_whole_run_is_a_figure_whatever_else_its_summary_says(tmp_path: Path) -> None:
    code = """print('{"type": "summary", "pages": 2, "items": 40, "dead": 0}')"""
    assert measure([sys.executable, "-c", code], PARTS["items"].expected(2), tmp_path, {}).pages == 2


def test_a_peak_is_that_of_the_largest_process_of_a_session_and_not_of_this_one() -> None:
    held = bytearray(b"x") * 300_000_000
    grandchild = "held = bytearray(b'x') * 60_000_000; input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
    argv = [sys.executable, "-c", code]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True) as child:
        memory = PeakMemory(child.pid)
        memory.start()
        until(lambda: memory.bytes > 60_000_000)
        child.communicate(b"\n")
    assert memory.stop() < 120_000_000 < len(held)


def result(name: str, ours_s: list[float], theirs_s: list[float]) -> Result:
    runs = {
        "Shoal": [Run(1000, cpu_s, cpu_s, 80_000_000) for cpu_s in ours_s],
        "Scrapy": [Run(1000, cpu_s, cpu_s, 120_000_000) for cpu_s in theirs_s],
    }
    versions = {contender.name: contender.version for contender in (SHOAL, PEERS["scrapy"])}
    figures = Comparison(name, 1000, "1.22", versions, runs, {"store": 0.6, "fetch": 0.4})
    return Result(Circumstances("python -m benchmarks", "2026-01-02", "a machine", 0.5, "3.11"), figures)


def test_report_has_each_part_with_its_own_figures() -> None:
    text = render(
        {"links": result("links", [1.0, 2.0, 4.0], [10.0, 10.0, 60.0]), "items": result("items", [3.0], [24.0])}
    )
    links, items = text.partition("## Links")[2].split("## Items")
    assert "| Shoal | 2.00 (1.00 – 4.00) | 500 (250 – 1,000) | 80 (80 – 80) | 1 |" in links
    # Of the ratios 10, 5 and 15 within the rounds; the ratio of the medians would be 5.
    assert "| Scrapy | 10.00 (10.00 – 60.00) | 100 (17 – 100) | 120 (120 – 120) | 10.0 x (5.0 – 15.0) |" in links
    assert "| store | 60% | 1.200 |" in links
    assert "8.0 x (8.0 – 8.0)" in items
    assert "1,000 pages with 20 records of 10 fields each" in items
    assert "2026-01-02 by `python -m benchmarks` on a machine, load 0.5 before the start" in items


def test_a_part_measured_again_leaves_the_other_results(tmp_path: Path) -> None:
    first = {name: result(name, [1.0], [2.0]) for name in ("items", "links")}
    for name, each in first.items():
        keep(tmp_path, name, each)
    again = result("items", [3.0], [4.0])
    keep(tmp_path, "items", again)
    assert list(kept(tmp_path, ["links", "tls", "items"]).items()) == [("links", first["links"]), ("items", again)]
