"""What a draft of a Scrapy spider leaves to its author: it is named with its line, and never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.spiders.from_scrapy import spiders_in
from tests.spiders.drafting import drafted, found, loaded, with_parse


def test_what_cannot_be_translated_stays_with_its_line(tmp_path: Path) -> None:
    made = with_parse("""
        token = response.xpath("../input/@value").get()
        yield {"token": token}
        yield scrapy.FormRequest.from_response(response, formnumber=1, callback=self.parse)
        for row in response.css("a"):
            self.crawler.stats.inc_value("rows")
        yield {"title": response.css("b::text").get()}
        """)
    assert found(made, tmp_path) == [{"title": "Bell"}]
    lines = {note.line: note.text for note in made.notes}
    # The first line of the callback's body is the 13th of the file.
    assert list(lines) == [13, 14, 15, 17], made.text
    token, used, form, crawler = lines.values()
    assert "does not take this selector" in token and used == "it uses token, which is not translated"
    assert "a form of the page" in form and "self.crawler" in crawler
    for line, text in lines.items():
        assert f"# line {line}: {text}" in made.text


@pytest.mark.parametrize("selector", ["p::text, p ::text", "a::attr(href), b", "div::foo"])
def test_a_selector_that_is_not_taken_leaves_a_draft(selector: str) -> None:
    made = with_parse(f"""
        yield {{"title": response.css("{selector}").get()}}
        """)
    assert [note.text.partition(":")[0] for note in made.notes] == ["Shoal does not take this selector"]


def test_a_start_method_that_decides_is_named() -> None:
    made = drafted("""
        class TagSpider(scrapy.Spider):
            name = "tag"
            handle_httpstatus_list = [404]

            async def start(self):
                url = "https://quotes.toscrape.com/"
                if tag := getattr(self, "tag", None):
                    url = url + "tag/" + tag
                yield scrapy.Request(url, self.parse)

            def parse(self, response):
                yield {"url": response.url}
        """)
    assert [(note.line, note.text) for note in made.notes] == [
        (10, "handle_httpstatus_list: give statuses= to page.request, see docs/reference/python.md"),
        (14, "start decides what it requests: check the URLs in @spider"),
    ]


def test_nothing_of_the_original_is_run() -> None:
    made = drafted(
        """
        class Books(scrapy.Spider):
            name = "books"
            start_urls = ["http://x.example/"]

            def parse(self, response):
                yield {"a": 1}
        """,
        head="import scrapy\nraise SystemExit('it ran')\n",
    )
    assert "raise" not in made.text


@pytest.mark.parametrize(
    ("source", "why"),
    [("x = (", "is not Python"), ("x = 1", "has no spider of Scrapy"), ("x = '\0'", "is not Python")],
)
def test_a_file_without_a_spider_is_refused(source: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        spiders_in(source, "shop.py")


def test_code_that_would_run_when_the_draft_is_loaded_is_not_copied(tmp_path: Path) -> None:
    made = drafted(
        """
        import os
        from typing import Any

        SECRET = os.system("exit 1")
        FIRST = SECOND
        SECOND = FIRST
        LARGE = 9 ** 9 ** 9
        LIMIT = 2 * 3

        def late(n=os.getpid()):
            return n

        def typed(n: Unknown = LIMIT) -> Unknown:
            return n

        class Books(scrapy.Spider):
            name = "list"
            start_urls = ["http://x.example/"]

            def parse(self, response):
                yield {"n": typed(), "all": (SECRET, FIRST, LARGE, late)}

            def filter(self, response):
                yield {}
        """
    )
    lines = made.text.splitlines()
    assert [line for line in lines if line.startswith(("LIMIT", "def "))] == [
        "LIMIT = 2 * 3",
        "def typed(n=LIMIT):",
        "def list_spider(page: Page):",
        "def filter_(page: Page):",
    ]
    for name in ("SECRET", "FIRST", "LARGE", "late()"):
        assert any(note.text.startswith(f"{name} is not") for note in made.notes), made.notes
    assert loaded(made, tmp_path).name == "list"


def test_a_base_class_of_the_project_is_named() -> None:
    made = drafted("class Books(ShopSpider):\n    start_urls = ['http://x.example/']\n")
    assert "the base class ShopSpider is not Scrapy's" in made.notes[0].text
    assert "there is no method parse" in made.notes[1].text
