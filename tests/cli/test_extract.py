"""New items out of the archive, from outside: the site is asked for nothing."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from shoal.cli.commands.extract import FAULTS_SHOWN
from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.crawling import WITHIN_S, crawling, until
from tests.hostile.processes import children_of, is_gone

PRODUCTS = 12
"""That the fixture's site has."""
BOOKS = """\
from decimal import Decimal
from shoal import Item, Page, css, spider

class Book(Item):
    title: str = css("h1")
    price: Decimal | None = css(".price_color")

@spider("{url}", allow_private=True, rate=0)
def books(page: Page):
    yield from page.follow("nav a, li.next a")
    yield from page.follow("h3 a", to=detail, meta={"by": "books"})

@books.callback
def detail(page: Page):
    yield page.item(Book)
"""
RULES = """\
name: titles
start: {url}
items:
  - name: Title
    each: h1
    fields:
      title: {css: h1}
"""


@pytest.fixture
def crawled(shoal: Shell, site: Running) -> str:
    return str(shoal.crawl(site.url()).summary["job"])


def write(shoal: Shell, site: Running, name: str, text: str) -> None:
    (shoal.folder / name).write_text(text.replace("{url}", site.url()))


def items(shoal: Shell) -> list[dict[str, Any]]:
    return sorted(shoal("items", "last", "--json").lines, key=json.dumps)


def test_a_spider_over_the_archive_gives_what_it_gives_on_the_web(shoal: Shell, site: Running, crawled: str) -> None:
    write(shoal, site, "books.py", BOOKS)
    asked = len(site.log())
    ran = shoal("extract", crawled, "--spider", "books.py", "--json")
    assert (ran.code, ran.summary["items"], ran.summary["failed"]) == (0, PRODUCTS, 0), ran.err
    assert len(site.log()) == asked
    extracted = items(shoal)
    assert shoal("crawl", "books.py", "--json").code == 0
    assert items(shoal) == extracted and len(extracted) == PRODUCTS


def test_a_sitemap_that_the_crawl_read_is_for_no_callback(shoal: Shell, site: Running) -> None:
    spider = (
        '@spider("{url}", sitemaps=True, allow_private=True, rate=0)\ndef all(page):\n    yield {"url": page.url}\n'
    )
    write(shoal, site, "all.py", f"from shoal import spider\n\n{spider}")
    assert shoal("crawl", "all.py", "--json").code == 0
    crawled = items(shoal)
    assert any("sitemap" in entry.path for entry in site.log())
    assert shoal("extract", "last", "--spider", "all.py", "--json").code == 0
    assert items(shoal) == crawled and not any("sitemap" in item["url"] for item in crawled)


def test_meta_and_callbacks_reach_the_pages_they_are_for(shoal: Shell, site: Running, crawled: str) -> None:
    write(shoal, site, "books.py", BOOKS.replace("yield page.item(Book)", 'yield {"by": page.meta["by"]}'))
    ran = shoal("extract", crawled, "--spider", "books.py", "--json")
    assert (ran.code, ran.summary["items"]) == (0, PRODUCTS), ran.err
    assert items(shoal) == [{"by": "books"}] * PRODUCTS


def test_few_pages_start_one_process_and_it_loads_no_database(shoal: Shell, site: Running, crawled: str) -> None:
    seen = 'yield {"process": os.getpid(), "database": "sqlalchemy" in sys.modules}'
    write(shoal, site, "books.py", "import os, sys\n" + BOOKS.replace("yield page.item(Book)", seen))
    assert shoal("extract", crawled, "--spider", "books.py", "--processes", "8").code == 0
    assert len({item["process"] for item in items(shoal)}) == 1
    assert not any(item["database"] for item in items(shoal))


def test_rules_replace_the_items_of_a_spider(shoal: Shell, site: Running) -> None:
    write(shoal, site, "books.py", BOOKS)
    write(shoal, site, "titles.yaml", RULES)
    jobs = [shoal("crawl", "books.py", "--json").summary["job"] for _ in range(2)]
    job = jobs[-1]
    ran = shoal("extract", "last", "--rules", "titles.yaml", "-o", "titles.jsonl")
    assert ran.code == 0, ran.err
    assert "pages read" in ran.err and f"see also: shoal items {job}" in ran.err
    written = [json.loads(line) for line in (shoal.folder / "titles.jsonl").read_text().splitlines()]
    assert {tuple(item) for item in written} == {("title",)}
    assert f"  {PRODUCTS} items of Book replaced by {len(written)} items of Title\n" in ran.err
    assert "against" not in ran.err + shoal("job", job).out, "what was replaced is not missing"
    assert items(shoal) == sorted(written, key=json.dumps)


def test_a_job_without_a_spider_gives_items_by_default_once_they_are_extracted(
    shoal: Shell, site: Running, crawled: str
) -> None:
    write(shoal, site, "titles.yaml", RULES)
    assert shoal("extract", crawled, "--rules", "titles.yaml").code == 0
    assert shoal("export", crawled, "-o", "out.jsonl").code == 0
    assert set(json.loads((shoal.folder / "out.jsonl").read_text().splitlines()[0])) == {"title"}


def test_a_spider_that_fails_leaves_the_items_as_they_were(shoal: Shell, site: Running) -> None:
    write(shoal, site, "books.py", BOOKS)
    assert shoal("crawl", "books.py", "--json").summary["items"] == PRODUCTS
    before = items(shoal)
    write(shoal, site, "books.py", BOOKS.replace("yield page.item(Book)", "yield page.nothing"))
    ran = shoal("extract", "last", "--spider", "books.py")
    assert ran.code == 3
    assert "books.detail: AttributeError" in ran.err and "nothing was replaced" in ran.err
    assert items(shoal) == before
    failing = ("extract", "last", "--spider", "books.py", "--max-failure-rate", "1", "--json")
    empty = shoal(*failing)
    assert (empty.code, empty.summary["no_items"]) == (3, f"the spider failed on {PRODUCTS} pages")
    assert items(shoal) == before
    allowed = shoal(*failing, "--allow-empty")
    assert (allowed.code, allowed.summary["items"], allowed.summary["failed"]) == (0, 0, PRODUCTS)
    assert (allowed.summary["no_items"], items(shoal)) == (None, [])


KILLER = 'if "lantern" in page.url:\n        os.kill(os.getpid(), 11)\n    yield page.item(Book)'


def test_only_the_page_that_crashes_its_process_is_blamed(shoal: Shell, site: Running, crawled: str) -> None:
    write(shoal, site, "books.py", "import os\n" + BOOKS.replace("yield page.item(Book)", KILLER))
    ran = shoal("extract", crawled, "--spider", "books.py")
    assert ran.code == 3 and "signal 11" in ran.err and "lantern" in ran.err and "nothing was replaced" in ran.err
    allowed = shoal("extract", crawled, "--spider", "books.py", "--max-failure-rate", "0.9", "--json")
    summary = allowed.summary
    assert (allowed.code, summary["failed"], summary["items"]) == (0, 2, PRODUCTS - 2)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_extractor_processes_end_with_the_command(
    shoal: Shell, site: Running, crawled: str, how: signal.Signals
) -> None:
    write(shoal, site, "books.py", BOOKS.replace("yield page.item(Book)", "while True: pass"))
    with shoal.start("extract", crawled, "--spider", "books.py") as process:
        children = until(lambda: children_of(process.pid, b"multiprocessing"))
        process.send_signal(how)
        process.wait(WITHIN_S)
    until(lambda: all(map(is_gone, children)))
    assert items(shoal) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give either --rules FILE or --spider SPIDER"),
        (("--rules", "a.yaml", "--spider", "b.py"), "give either --rules FILE or --spider SPIDER"),
        (("--rules", "nowhere.yaml"), "nowhere.yaml"),
        (("--rules", "books.py"), "--rules books.py: not a .yaml or .yml or .json file"),
    ],
)
def test_extract_needs_rules_or_a_spider(
    shoal: Shell, site: Running, crawled: str, words: tuple[str, ...], said: str
) -> None:
    ran = shoal("extract", crawled, *words)
    assert ran.code == 2 and said in ran.err


@pytest.mark.parametrize("option", ["--no-archive", "--max-archive-bytes=0"])
def test_the_option_that_disabled_the_archive_is_named(shoal: Shell, site: Running, option: str) -> None:
    write(shoal, site, "titles.yaml", RULES)
    job = shoal.crawl(site.url(), option, "--max-pages", "2").summary["job"]
    for command in (("extract", job, "--rules", "titles.yaml"), ("export", job, "--warc", "-o", "site.warc.gz")):
        ran = shoal(*command)
        assert ran.code == 2 and option.partition("=")[0] in ran.err


NOWHERE = RULES.replace("each: h1", "each: article.nowhere")


def test_an_extraction_without_items_says_why_and_replaces_nothing(shoal: Shell, site: Running, crawled: str) -> None:
    write(shoal, site, "titles.yaml", RULES)
    write(shoal, site, "nowhere.yaml", NOWHERE)
    empty = shoal("extract", crawled, "--rules", "nowhere.yaml", "--json")
    pages = empty.summary["pages"]
    why = f'the selector "article.nowhere" matched on none of {pages} pages'
    assert (empty.code, empty.summary["no_items"]) == (3, why), empty.err
    (unmatched,) = empty.summary["unmatched"]
    assert (unmatched["use"], unmatched["selector"], unmatched["pages"]) == ("each", "article.nowhere", pages)
    assert shoal("extract", crawled, "--rules", "titles.yaml").code == 0
    before = items(shoal)
    ran = shoal("extract", crawled, "--rules", "nowhere.yaml", "-o", "out.jsonl")
    kept = f"nothing was replaced, and the job keeps its {len(before)} items"
    assert ran.code == 3 and f"error: no items: {why}; {kept}; try it: shoal shell {site.url()}" in ran.err
    assert items(shoal) == before and not (shoal.folder / "out.jsonl").exists()
    allowed = shoal("extract", crawled, "--rules", "nowhere.yaml", "--allow-empty")
    assert allowed.code == 0 and "no items" not in allowed.err and items(shoal) == []


def test_a_selector_that_never_matched_is_named_beside_the_items(shoal: Shell, site: Running, crawled: str) -> None:
    write(shoal, site, "titles.yaml", RULES + NOWHERE.partition("items:\n")[2].replace("Title", "Other"))
    ran = shoal("extract", crawled, "--rules", "titles.yaml")
    assert ran.code == 0, ran.err
    assert '  the selector "article.nowhere" matched on none of ' in ran.err


def test_pages_without_archived_bodies_are_reported(shoal: Shell, site: Running, crawled: str) -> None:
    write(shoal, site, "books.py", BOOKS.replace("yield page.item(Book)", "raise KeyError(page.url)"))
    failing = shoal("extract", crawled, "--spider", "books.py", "--max-failure-rate", "1")
    assert failing.err.count("  failed on 1 page: ") == FAULTS_SHOWN
    assert f"  failed on {PRODUCTS - FAULTS_SHOWN} more pages for other reasons" in failing.err
    write(shoal, site, "books.py", BOOKS.replace('css("h1")', 'css(".nowhere")'))
    rejecting = shoal("extract", crawled, "--spider", "books.py")
    assert f"why rejected: shoal items {crawled} --rejected" in rejecting.err
    why = f"error: no items: all {PRODUCTS} were rejected, mostly because of"
    assert rejecting.code == 3 and why in rejecting.err and "see them: shoal items" in rejecting.err


def test_extracting_from_an_unfinished_job_warns_that_items_are_incomplete(shoal: Shell, site: Running) -> None:
    write(shoal, site, "titles.yaml", RULES)
    with crawling(shoal, site) as crawl:
        crawl.kill()
        ran = shoal("extract", crawl.job, "--rules", "titles.yaml")
    assert ran.code == 0 and "the job has not ended" in ran.err
