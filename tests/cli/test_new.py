from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.practice import Running, Shop, running
from shoal.spiders.page import Page
from shoal.spiders.spider_template import as_python, spider_name
from shoal.spiders.suggest_fields import SuggestedField, Suggestion, suggest_fields
from tests.cli.conftest import Shell

KITCHEN = "/category/kitchen/index.html"


@pytest.fixture(scope="module")
def paged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Each of its categories has two pages."""
    shop = Shop(hosts=1, categories=2, products=12, per_page=4, troubled=False)
    with running(shop, log=tmp_path_factory.mktemp("paged") / "site.log") as site:
        yield site


@pytest.mark.parametrize("file", ["shop.py", "shop.yaml"])
def test_the_written_file_passes_the_check_and_runs(shoal: Shell, paged: Running, file: str) -> None:
    url = paged.url(KITCHEN)
    assert shoal("new", file, url, "--allow-private").code == 0
    *_, summary = shoal("check", file, "--url", url, "--json").lines
    assert (summary["items"], summary["rejects"], summary["missing"]) == (4, 0, [])
    crawled = shoal("crawl", file, "--rate", "0", "--json")
    assert crawled.code == 0
    (told,) = (line for line in crawled.lines if line["type"] == "summary")
    # Two pages of the category, and a detail page for each of its six products.
    assert (told["pages"], told["items"], told["dead"]) == (8, 12, 0)


def test_block_fields_next_page_and_details_are_proposed(shoal: Shell, paged: Running) -> None:
    before = len(paged.log())
    (told,) = shoal("new", "shop.yaml", paged.url(KITCHEN), "--allow-private", "--json").lines
    assert told["each"] == "article.product_pod"
    assert told["fields"] == ["title", "url", "price"]
    assert (told["next"], told["details"]) == ("li.next a", "article.product_pod h3 a")
    assert 'price: {css: ".price_color", type: decimal}' in (shoal.folder / "shop.yaml").read_text()
    assert [visit.path for visit in paged.log()[before:]] == ["/robots.txt", KITCHEN]


def test_the_same_page_gives_the_same_file(shoal: Shell, site: Running) -> None:
    written = []
    for folder in ("a", "b"):
        (shoal.folder / folder).mkdir()
        shoal("new", f"{folder}/shop.py", site.url(), "--allow-private")
        written.append((shoal.folder / folder / "shop.py").read_text())
    assert written[0] == written[1] != ""


@pytest.mark.parametrize("file", ["shop.py", "shop.yaml"])
def test_a_page_that_repeats_nothing_is_one_item(shoal: Shell, site: Running, file: str) -> None:
    url = site.url("/about.html")
    shoal("new", file, url, "--allow-private")
    shown, summary = shoal("check", file, "--url", url, "--allow-private", "--json").lines
    assert summary["items"] == 1 and summary["missing"] == []
    assert shown["items"][0]["data"]["title"] == "About us"


@pytest.mark.parametrize("file", ["shop.py", "shop.yml"])
def test_without_a_url_it_is_a_template_that_works(shoal: Shell, file: str) -> None:
    assert shoal("new", file).code == 0
    (shoal.folder / "page.html").write_text("<h1>Hello</h1><a rel=next href=2>more</a>")
    shown, _ = shoal("check", file, "--file", "page.html", "--json").lines
    assert [item["data"] for item in shown["items"]] == [{"title": "Hello"}]
    assert [follow["url"] for follow in shown["follows"]] == ["https://example.com/2"]


def test_an_existing_file_is_kept_unless_forced(shoal: Shell, site: Running) -> None:
    mine = shoal.folder / "mine.py"
    mine.write_text("# mine\n")
    ran = shoal("new", "mine.py", site.url(), "--allow-private")
    assert ran.code == 2 and "--force" in ran.err
    assert mine.read_text() == "# mine\n" and site.log() == []
    assert shoal("new", "mine.py", site.url(), "--allow-private", "--force").code == 0
    assert "article.product_pod" in mine.read_text()


def test_an_unknown_extension_is_refused_before_any_request(shoal: Shell, site: Running) -> None:
    ran = shoal("new", "shop.txt", site.url(), "--allow-private")
    assert ran.code == 2 and ".py for a spider" in ran.err
    assert site.log() == []


def test_robots_and_private_addresses_are_respected(shoal: Shell, site: Running) -> None:
    assert shoal("new", "a.py", site.url()).code == 4
    assert site.log() == []
    refused = shoal("new", "a.py", site.url("/private/orders.html"), "--allow-private")
    assert refused.code == 4 and "--ignore-robots" in refused.err
    assert [visit.path for visit in site.log()] == ["/robots.txt"]
    assert not (shoal.folder / "a.py").exists()


def test_an_error_page_or_another_type_writes_no_file(shoal: Shell, site: Running) -> None:
    for path, said in (("/nowhere.html", "answered 404"), ("/feed.xml", "not HTML")):
        ran = shoal("new", "a.py", site.url(path), "--allow-private")
        assert ran.code == 4 and said in ran.err
    assert not (shoal.folder / "a.py").exists()


def test_a_password_in_the_url_is_not_written(shoal: Shell, site: Running) -> None:
    url = site.url().replace("//", "//ann:hunter2@")
    ran = shoal("new", "shop.py", url, "--allow-private")
    assert ran.code == 0
    assert "hunter2" not in ran.out + ran.err + (shoal.folder / "shop.py").read_text()
    bad = shoal("new", "b.py", "http://ann:hunter2@[half/", "--allow-private")
    assert bad.code == 2 and "hunter2" not in bad.out + bad.err


def test_the_repeated_block_is_found_not_its_parent_or_children() -> None:
    def card(n: int) -> str:
        tags = "".join(f"<a class=tag href=/t/{tag}>{tag}</a>" for tag in "abc")
        return f"<div class=quote><span class=text>Saying {n}</span><small class=by>Ann {n}</small><p>{tags}</p></div>"

    rows = "".join(f"<div class=row>{card(n)}{card(n + 10)}</div>" for n in range(3))
    menu = "".join(
        f"<li class=entry><a href=/m/{n}>A rather long entry of the menu, number {n}</a></li>" for n in range(20)
    )
    found = proposal(f"<nav><ul>{menu}</ul></nav><main>{rows}</main>")
    assert found.each == "div.quote"
    assert [field.name for field in found.fields][:2] == ["text", "by"]


SIDEBAR = "".join(
    f'<div class="post-card"><h4><a href="/p/{n}">Recent {n}</a></h4><img src="/{n}.png"><time datetime="2026-01-0{n}">'
    f"{n} January</time><p>A teaser that is longer than the titles of the list are.</p></div>"
    for n in range(1, 7)
)
LIST = "".join(f'<div class="entry"><h2><a href="/e/{n}">Entry {n}</a></h2></div>' for n in range(1, 5))


@pytest.mark.parametrize(
    ("page", "each"),
    [
        (f'<main>{LIST}</main><div class="extra">{SIDEBAR}</div>', "div.entry"),
        (f'<div id="content">{LIST}</div><div class="extra">{SIDEBAR}</div>', "div.entry"),
        (f'<div class="left">{LIST}</div><div class="site-sidebar">{SIDEBAR}</div>', "div.entry"),
        (f'<main>{SIDEBAR}</main><div id="sidebar">{SIDEBAR}</div>', "main div.post-card"),
        (f"<main><ul class='tags'>{'<li><a href=/t>tag</a></li>' * 9}</ul></main>{LIST}", "div.entry"),
    ],
)
def test_the_main_content_is_preferred_to_a_sidebar(page: str, each: str) -> None:
    assert proposal(f"<body>{page}</body>").each == each


def test_the_price_in_the_main_content_is_preferred() -> None:
    page = '<body><div class="cart-price">£ 0.00</div><main><h1>Kettle</h1><p class="price">£ 29.90</p></main></body>'
    assert SuggestedField("price", "main [class*=price]", "decimal") in proposal(page).fields


def test_foreign_prices_dates_and_images_are_recognized() -> None:
    cards = "".join(
        f"<li class=card><img src=/{n}.png><h2>Lamp {n}</h2><b>1.23{n},50 €</b><time datetime=2026-01-0{n}></li>"
        for n in range(1, 5)
    )
    found = proposal(f"<ul>{cards}</ul>")
    assert found.each == "li.card" and found.details is None
    assert set(found.fields) == {
        SuggestedField("title", "h2"),
        SuggestedField("price", "b", "decimal"),
        SuggestedField("image", "img::attr(src)", "url"),
        SuggestedField("published", "time::attr(datetime)", "datetime"),
    }


def test_a_field_that_some_blocks_lack_is_optional() -> None:
    cards = "".join(
        f"<li class=card><h2>Lamp {n}</h2>{f'<i class=note>n{n}</i>' if n else ''}</li>" for n in range(9, -1, -1)
    )
    assert SuggestedField("note", ".note", optional=True) in proposal(f"<ul>{cards}</ul>").fields


def test_a_next_link_is_recognized_by_its_text() -> None:
    assert proposal("<h1>x</h1><a href=/2>Next →</a>").next_page == "//a[normalize-space()='Next →']"


@pytest.mark.parametrize("stem", ["class", "2024", "détail", "detail", "my-shop", "Item", "…"])
def test_any_file_name_gives_a_python_name(stem: str) -> None:
    compile(as_python(spider_name(stem), "https://a.test/", Suggestion((SuggestedField("title", "h1"),))), stem, "exec")


def proposal(html: str) -> Suggestion:
    return suggest_fields(Page("https://shop.test/", html.encode(), html=html.encode()))


ROOT = Path(__file__).parents[2]
LIST = """
import scrapy


class ListSpider(scrapy.Spider):
    name = "list"
    start_urls = ["SITE"]

    def parse(self, response):
        for product in response.css("article.product_pod"):
            yield {
                "title": product.css("h3 a::attr(title)").get(),
                "href": product.xpath(".//h3/a/@href").get(),
                "price": product.css(".price_color::text").get(),
            }
        next_page = response.css('li.next a::attr("href")').get()
        if next_page is not None:
            next_page = response.urljoin(next_page)
            yield scrapy.Request(next_page, callback=self.parse)
"""


RULES = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class RulesSpider(CrawlSpider):
    name = "rules"
    start_urls = ["SITE"]
    rules = (
        Rule(LinkExtractor(allow=r"/product/[^?]+$"), callback="parse_product"),
        Rule(LinkExtractor(allow=r"/category/", deny="nothing")),
    )

    def parse_product(self, response):
        return {"url": response.url, "title": response.css("h1::text").get()}
"""


@pytest.mark.parametrize("spider", ["list", "rules", "books"])
def test_the_draft_of_a_scrapy_spider_gives_the_same_items(shoal: Shell, paged: Running, spider: str) -> None:
    books = (ROOT / "examples" / "scrapy" / "books_scrapy.py").read_text().replace("http://127.0.0.1:8000/", "SITE")
    source = {"list": LIST, "rules": RULES, "books": books}[spider]
    source = source.replace("SITE", paged.url(KITCHEN if spider == "list" else "/"))
    (shoal.folder / "original.py").write_text(source)
    command = [sys.executable, "-m", "scrapy", "runspider", "original.py", "-L", "ERROR", "-o", "original.jsonl"]
    ran = subprocess.run(command, cwd=shoal.folder, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    drafted = shoal("new", "draft.py", "--from-scrapy", "original.py", "--allow-private", "--json")
    assert drafted.code == 0 and drafted.lines[0]["untranslated"] == [], drafted.err
    crawled = shoal("crawl", "draft.py", "--rate", "0", "-o", "draft.jsonl")
    assert crawled.code == 0, crawled.err
    expected, given = (_items(shoal.folder / name) for name in ("original.jsonl", "draft.jsonl"))
    assert given == expected and len(given) >= 6


def _items(path: Path) -> list[str]:
    return sorted(json.dumps(json.loads(line), sort_keys=True) for line in path.read_text().splitlines())


def test_a_draft_lists_what_it_could_not_translate(shoal: Shell) -> None:
    source = LIST.replace("SITE", "http://x.example/").replace(
        "    def parse(", "    def closed(self, reason):\n        pass\n\n    def parse("
    )
    (shoal.folder / "original.py").write_text(
        source + source.replace("ListSpider", "Other").replace('"list"', '"other"')
    )
    ran = shoal("new", "draft.py", "--from-scrapy", "original.py")
    assert ran.code == 0 and "wrote draft.py: spider list_spider" in ran.err, ran.err
    assert "original.py:9: not translated: closed()" in ran.err and "--spider other" in ran.err
    assert shoal("check", "draft.py").code == 0
    for words, why in (
        (["draft.py", "--from-scrapy", "original.py"], "--force"),
        (["other.py", "--from-scrapy", "original.py", "--spider", "none"], "it has list, other"),
        (["other.yaml", "--from-scrapy", "original.py"], "name a .py file"),
        (["other.py", "http://x.example/", "--from-scrapy", "original.py"], "leave the URL out"),
        (["other.py", "--from-scrapy", "none.py"], "cannot be read"),
        (["other.py", "--spider", "list"], "--from-scrapy"),
    ):
        ran = shoal("new", *words)
        assert ran.code == 2 and why in ran.err, ran.err
