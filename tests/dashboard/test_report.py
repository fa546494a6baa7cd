"""The report of a job: one file, with everything in it and nothing that runs or is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from shoal.dashboard.report_charts import host_graph, size_classes, status_mix
from shoal.embedded.home import Home
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.crawl_shape import SIZES, HostLink
from tests.cli.crawled import Crawled, crawled
from tests.dashboard.accessibility import violations
from tests.dashboard.chromium import NARROW, WIDE, Chromium
from tests.store.make import item_record, page

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with crawled(tmp_path_factory.mktemp("report"), "--name", MARKUP) as shop:
        yield shop


def add_hostile_page(shop: Crawled, job: str) -> None:
    with Home(shop.shoal.home) as home:
        hostile = replace(
            page(1), job=job, url=MARKUP, host=MARKUP, parent=2, items=[item_record(MARKUP, {MARKUP: MARKUP})]
        )
        save(home.store, Batch(job, pages=[hostile, replace(page(2), job=job, host="elsewhere")]))


def test_a_report_has_every_part_is_readable_and_runs_nothing(shop: Crawled, browser: Chromium) -> None:
    job = shop.summary["job"]
    add_hostile_page(shop, job)
    ran = shop.shoal("report", job, "-o", "report.html")
    assert (ran.code, ran.err) == (0, "wrote the report to report.html\n")
    html = (shop.shoal.folder / "report.html").read_text()
    assert not re.search(r"<script|<img|<iframe|javascript:|@import|url\(", html.replace(MARKUP, ""), re.IGNORECASE)
    assert set(re.findall(r'\b(?:src|href)="([^"]*)"', html)) == {"data:,"}
    tab = browser.tab()
    frame = tab.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    tab.call("Page.setDocumentContent", frameId=frame, html=html)
    headings = tab.js("[...document.querySelectorAll('h2')].map((one) => one.textContent)")
    assert headings == [
        *(
            "Over time",
            "Status codes",
            "Size of pages",
            "Slowest hosts",
            "Depth of the link graph",
            "Links between hosts",
        ),
        *("Pages that led to most others", "Requests given up on", "Failed attempts"),
        *("Links not followed", "Requests refused", "Options"),
    ]
    assert tab.text.count("<script>alert(1)</script>") >= 3
    for width in (WIDE, NARROW):
        tab.resize(width)
        assert tab.overflow() <= 0
        for theme in ("light", "dark"):
            tab.theme(theme)
            assert violations(tab) == []
    assert (tab.problems, tab.dialogs) == ([], [])


def test_a_report_replaces_no_file_by_itself(shop: Crawled) -> None:
    path = Path(shop.shoal.folder, "kept.html")
    path.write_text("mine")
    ran = shop.shoal("report", "last", "-o", str(path))
    assert ran.code == 2 and "--overwrite" in ran.err and path.read_text() == "mine"
    assert shop.shoal("report", "last", "-o", str(path), "--overwrite").code == 0
    assert path.read_text().startswith("<!doctype html>")
    assert shop.shoal("report", "last", "-o", "report.pdf").code == 2
    assert shop.shoal("report", "last", "-o", "nowhere/report.html").code == 2


def test_hosts_that_lead_to_each_other_are_drawn() -> None:
    assert host_graph([HostLink("a", "a", 5), HostLink("b", "b", 5)]) == ""
    drawn = ElementTree.fromstring(
        host_graph([HostLink("a", "<b>", 5), HostLink("<b>", "a", 1), HostLink("a", "a", 9)])
    )
    assert [one.attrib["class"] for one in drawn if "class" in one.attrib] == ["edge", "edge", "node", "node"]
    assert [float(one.attrib["stroke-width"]) for one in drawn[:2]] == sorted(
        (float(one.attrib["stroke-width"]) for one in drawn[:2]), reverse=True
    )


def test_statuses_fill_the_bar_and_sizes_begin_at_the_first_class_with_pages() -> None:
    bar = ElementTree.fromstring(status_mix({"200": 6, "404": 3, "503": 1}))
    assert [float(one.attrib["width"]) for one in bar] == [60, 0, 30, 10]
    counts = [0] * (len(SIZES) + 1)
    assert size_classes(counts) == []
    counts[1], counts[3] = 5, 2
    assert size_classes(counts) == [("1 kB to 10 kB", 5), ("10 kB to 30 kB", 0), ("30 kB to 100 kB", 2)]
