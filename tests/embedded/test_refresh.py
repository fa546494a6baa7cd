"""A spider that crawls a site again: unchanged pages come from the archive, and its callback runs on all of them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.model import Input, JobSpec, Politeness
from shoal.spiders.page import Page
from shoal.spiders.spider import Spider, spider
from shoal.store.jobs import create_job
from shoal.store.results.items import list_items
from shoal.store.results.listings import list_pages
from shoal.urls import Exclusions, Params, target
from tests.engine.conftest import html, serving
from tests.engine.test_conditional_recrawl import Tagged
from tests.store.archiving import root_of


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path / "home") as home:
        yield home


def reading(word: str) -> Spider:
    """A spider whose items have a word of its own."""

    @spider("http://site.example/")
    def shop(page: Page) -> Any:
        yield {"word": word, "status": page.status, "type": page.content_type, "text": page.text}
        yield from page.follow("a")

    return shop


async def crawl(home: Home, job: str, url: str, reader: Spider, **more: Any) -> None:
    politeness = Politeness(rate=0, robots=False)
    wanted = JobSpec("shop", politeness=politeness, allow_private=True, spider="shop.py:shop", **more)
    create_job(home.store, job, lambda: wanted, [Input(1, url, target(url, Params(), "host"))], time.time())
    await Crawl(home, job, 4, Exclusions(), reader).run()


def items(home: Home, job: str) -> list[dict[str, Any]]:
    found = list(list_items(home.store, job, {}))
    return sorted(found, key=lambda item: str(item["text"]))


def statuses(home: Home, job: str) -> dict[str, tuple[int, bool | None]]:
    pages = list_pages(home.store, job, {})
    return {"/" + page["url"].split("/", 3)[3]: (page["status"], page["changed"]) for page in pages}


PAGES = {"/": ("/a", "/b"), "/a": ("/",), "/b": ("/",)}


def site_pages() -> dict[str, Tagged]:
    return {path: Tagged(html(*links, body=f"<p>at {path}</p>")) for path, links in PAGES.items()}


async def test_unchanged_pages_come_from_the_archive_and_give_items_and_links_as_if_fetched(home: Home) -> None:
    pages = site_pages()
    async with serving(pages) as site:
        await crawl(home, "one", site.url(), reading("first"))
        pages["/b"].answer = html("/", "/c", body="<p>changed</p>")
        pages["/c"] = Tagged(html("/", body="<p>new</p>"))
        await crawl(home, "two", site.url(), reading("second"), refresh=True)
        # From a refresh to the next: the archive has the body under the first job.
        await crawl(home, "three", site.url(), reading("third"), refresh=True, archive=False)
    assert statuses(home, "two") == {"/": (304, False), "/a": (304, False), "/b": (200, True), "/c": (200, None)}
    assert {status for status, _ in statuses(home, "three").values()} == {304}
    for job, word in (("two", "second"), ("three", "third")):
        assert {(item["word"], item["status"], item["type"]) for item in items(home, job)} == {(word, 200, "text/html")}
    texts = [item["text"] for item in items(home, "one")]
    assert len(texts) == 3
    assert [item["text"] for item in items(home, "two")] == [item["text"] for item in items(home, "three")]
    assert len(items(home, "two")) == 4


@pytest.mark.parametrize("how", ["no archive", "removed", "spoilt"])
async def test_a_page_that_the_archive_does_not_have_is_fetched(home: Home, how: str) -> None:
    pages = site_pages()
    async with serving(pages) as site:
        await crawl(home, "one", site.url(), reading("first"), archive=how != "no archive")
        if how == "removed":
            shutil.rmtree(root_of(home.archive))
        for segment in root_of(home.archive).rglob("*.warc.gz"):
            if how == "spoilt":
                segment.write_bytes(bytes(segment.stat().st_size))
        await crawl(home, "two", site.url(), reading("second"), refresh=True)
    assert {status for status, _ in statuses(home, "two").values()} == {200}
    assert [item["text"] for item in items(home, "two")] == [item["text"] for item in items(home, "one")]
    # It is asked with the condition only where the archive seems to have it, and without it then.
    asked = [page.asked[1:] for page in pages.values()]
    assert all(one[-1] is None and len(one) == (2 if how == "spoilt" else 1) for one in asked)
