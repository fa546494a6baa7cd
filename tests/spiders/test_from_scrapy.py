"""Drafts of Scrapy spiders: what they say, and that they load and read pages."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from shoal.spiders.from_scrapy.callbacks import LOGS
from tests.spiders.drafting import BOOK, drafted, found, loaded, requests_of, with_parse


def test_a_spider_of_scrapys_tutorial(tmp_path: Path) -> None:
    made = drafted("""
        class QuotesSpider(scrapy.Spider):
            name = "quotes"
            allowed_domains = ["toscrape.com"]
            custom_settings = {"DOWNLOAD_DELAY": 0.5, "ROBOTSTXT_OBEY": True}

            def start_requests(self):
                urls = ["https://quotes.toscrape.com/page/1/", "https://quotes.toscrape.com/page/2/"]
                for url in urls:
                    yield scrapy.Request(url=url, callback=self.parse)

            def parse(self, response):
                for quote in response.css("div.quote"):
                    yield {
                        "text": quote.css("span.text::text").get(),
                        "tags": quote.css("a.tag::text").getall(),
                    }
                next_page = response.css('li.next a::attr("href")').get()
                if next_page is not None:
                    yield response.follow(next_page, self.parse)
        """)
    assert made.notes == ()
    assert made.text == textwrap.dedent('''\
        """Drafted from shop.py by `shoal new --from-scrapy`."""

        from shoal import Item, Page, css, spider


        class QuotesItem(Item):
            text: str | None = css('span.text::text')
            tags: list[str] = css('a.tag::text')


        @spider('https://quotes.toscrape.com/page/1/', 'https://quotes.toscrape.com/page/2/', scope='domain', rate=2)
        def quotes(page: Page):
            yield from page.each('div.quote', QuotesItem)
            yield from list(page.follow('li.next a::attr(href)'))[:1]
        ''')
    html = b"<div class=quote><span class=text>A</span><a class=tag>x</a></div><li class=next><a href=/2>n</a></li>"
    assert found(made, tmp_path, html) == [{"text": "A", "tags": ["x"]}, "http://x.example/2"]


def test_callbacks_get_each_other_and_what_requests_give_them(tmp_path: Path) -> None:
    made = with_parse(
        """
        for link in response.css("a"):
            yield response.follow(link, self.detail, cb_kwargs={"place": 1})
        for href in response.css("a::attr(href)").getall():
            yield scrapy.Request(response.urljoin(href), self.detail, cb_kwargs={"place": 2}, errback=self.failed)
        yield from response.follow_all(css="a", callback=self.parse)
        yield from response.follow_all(response.xpath("//a/@href"), callback=self.detail, priority=2)
        yield scrapy.FormRequest("/login", formdata={"a": "b"}, callback=self.detail)
        """,
        """
        def detail(self, response, place=0):
            yield {"place": place, "url": response.url, "status": response.status}

        def failed(self, failure):
            yield {"url": failure.request.url}
        """,
    )
    assert made.notes == ()
    requests = requests_of(made, tmp_path, BOOK)
    assert [(one.url, one.callback, one.meta, one.method) for one in requests][::2] == [
        ("http://x.example/a", "detail", {"place": 1}, "GET"),
        ("http://x.example/a", "detail", {"place": 2}, "GET"),
        ("http://x.example/a", None, None, "GET"),
        ("http://x.example/a", "detail", None, "GET"),
        ("http://x.example/login", "detail", None, "POST"),
    ]
    assert found(made, tmp_path, callback="detail") == [{"place": 0, "url": "http://x.example/shop/", "status": 200}]
    assert found(made, tmp_path, callback="failed") == [{"url": "http://x.example/shop/"}]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('response.css("b::text").get()', "Bell"),
        ('response.css("u::text").get()', None),
        ('response.css("u::text").get(default="-").strip()', "-"),
        ('response.css("u::text").extract_first("-")', "-"),
        ('response.css("a::text").getall()', ["1", "2"]),
        ('response.xpath("//a/@href").extract()', ["/a", "/b"]),
        ('response.xpath("//h1/b/text()").get()', "Bell"),
        ('response.css("a")[0].attrib["href"]', "/a"),
        ('response.css("a").attrib["href"]', "/a"),
        ('response.css("h1").css("b::text").get()', "Bell"),
        ('response.css(".price::text").re_first(r"(\\d)2")', "1"),
        ('response.css("a::attr(href)").re(r"[ab]")', ["a", "b"]),
        ('[a.css("::text").get() for a in response.css("a")]', ["1", "2"]),
        ('[a.attrib["href"] for a in response.css("a")]', ["/a", "/b"]),
        ('len(response.css("a"))', 2),
        ("response.urljoin('x')", "http://x.example/shop/x"),
        ('"Blue" in response.text', True),
    ],
)
def test_expressions_have_the_same_values(expression: str, value: object, tmp_path: Path) -> None:
    """Beside something that no field of an item can be, so that they are translated one by one."""
    made = with_parse(f'yield {{"n": 1, "x": {expression}}}')
    assert made.notes == (), made.text
    assert found(made, tmp_path) == [{"n": 1, "x": value}], made.text


def test_items_are_filled_step_by_step_or_at_once(tmp_path: Path) -> None:
    made = with_parse("""
        item = BookItem()
        item["title"] = response.css("b::text").get()
        if item["title"]:
            yield item
        elif response.status == 200:
            yield None
        yield BookItem(price=response.css(".price::text").get(), n=2)
        yield BookItem(price=response.css(".price::text").get())
        """)
    assert found(made, tmp_path) == [{"title": "Bell"}, {"price": "12", "n": 2}, {"price": "12"}]


def test_lists_of_texts_and_texts_of_a_loop_variable(tmp_path: Path) -> None:
    made = with_parse(
        """
        for part in response.css("p"):
            print(part.css("::text").getall())
            yield {"link": part.css("a").css("::attr(href)").get(), "texts": part.css("i::text, b::text").getall()}
        texts = response.css("b::text, u::text").getall()
        if texts:
            yield {"texts": texts}
        """
    )
    html = b"<p><a href=/x>1</a><b>2</b><i>3</i></p>"
    assert found(made, tmp_path, html) == [{"link": "/x", "texts": ["2", "3"]}, {"texts": ["2"]}]


def test_an_item_loader_and_a_function_in_the_callback(tmp_path: Path) -> None:
    made = with_parse(
        """
        def extract(query):
            return response.css(query).get(default="").strip()

        yield {"title": extract("b::text"), "none": extract("u::text")}
        loader = ItemLoader(item=BookItem(), response=response)
        loader.add_css("title", "b::text")
        loader.add_xpath("price", "//p/text()")
        loader.add_value("url", response.url)
        yield loader.load_item()
        """
    )
    assert found(made, tmp_path)[0] == {"title": "Bell", "none": ""}
    assert found(made, tmp_path)[1] == {"title": "Bell", "price": "12", "url": "http://x.example/shop/"}
    assert [note.text for note in made.notes] == [
        "the processors of the item loader: each field has the first text that is found"
    ]


def test_an_item_that_is_filled_field_by_field_is_an_item(tmp_path: Path) -> None:
    made = with_parse(
        """
        item = {}
        heading = response.css("h1")
        item["title"] = heading.css("b ::text").get()
        item["price"] = response.css(".price::text").get()
        yield item
        other = BookItem()
        other["title"] = response.css("b::text").get()
        other["again"] = other["title"]
        yield other
        """
    )
    assert "yield page.item(BooksItem)" in made.text
    title = {"title": "Bell"}
    assert found(made, tmp_path) == [{**title, "price": "12"}, {**title, "again": "Bell"}]


def test_a_login_sends_the_fields_of_the_form(tmp_path: Path) -> None:
    made = with_parse(
        """
        return scrapy.FormRequest.from_response(response, formdata={"user": "ann"}, callback=self.inside)
        """,
        """
        def inside(self, response):
            if "failed" in response.text:
                return
            yield scrapy.Request("/orders", self.inside)
        """,
    )
    html = b"<form action=/in method=post><input name=token value=t><input name=user><input type=submit></form>"
    assert made.notes == ()
    (request,) = requests_of(made, tmp_path, html)
    assert (request.url, request.method, request.callback) == ("http://x.example/in", "POST", "inside")
    assert request.body == b"token=t&user=ann"


def test_rules_of_a_crawl_spider(tmp_path: Path) -> None:
    made = drafted("""
        class Shop(CrawlSpider):
            name = "shop"
            start_urls = ["http://x.example/"]
            rules = (
                Rule(LinkExtractor(allow=r"/a$", deny="zzz"), callback="parse_item", follow=True),
                Rule(LinkExtractor(restrict_css="nav"), follow=True),
                Rule(LinkExtractor(allow=("/b", "/c"), tags=("img",))),
            )

            def parse_item(self, response):
                return {"url": response.url}
        """)
    html = BOOK + b"<nav><a href=/n>n</a></nav>"
    requests = requests_of(made, tmp_path, html)
    to = [(one.url.rpartition("/")[2], one.callback or "shop") for one in requests]
    # The spider itself, by its name.
    assert to == [("a", "parse_item"), ("n", "shop"), ("b", "shop")]
    assert found(made, tmp_path, html, "parse_item")[0] == {"url": "http://x.example/shop/"}
    assert len(requests_of(made, tmp_path, html, "parse_item")) == 3
    assert [note.text for note in made.notes] == ["tags= of a link extractor has no equivalent"]


def test_rules_of_a_sitemap_spider(tmp_path: Path) -> None:
    made = drafted("""
        class Shop(SitemapSpider):
            name = "shop"
            sitemap_urls = ["http://x.example/sitemap.xml"]
            sitemap_rules = [("/shop/", "parse_item"), ("/other/", "parse_other")]

            def parse_item(self, response):
                yield {"url": response.url}

            def parse_other(self, response):
                yield {}
        """)
    assert "sitemaps=True" in made.text and made.notes == ()
    assert found(made, tmp_path) == [{"url": "http://x.example/shop/"}]


@pytest.mark.parametrize(
    ("body", "result", "said"),
    [
        ('page = response.url.split("/")[-2]\nself.log(page)\nyield {"at": page}', [{"at": "shop"}], [LOGS]),
        ("links = response.css('a')\nyield from response.follow_all(links, self.parse)", ["/a", "/b"], []),
        ('item = scrapy.Item()\nitem["at"] = response.url\nreturn item', [{"at": "http://x.example/shop/"}], []),
        ('yield scrapy.http.JsonRequest("/api", data={"q": 1})', ["/api"], []),
        ('request = scrapy.Request("/a")\nrequest.meta["n"] = 1\nyield request', ["/a"], ["a request gets its meta"]),
        ('yield {"n": response.meta["link_text"]}', [], ["response.meta['link_text'] is set by Scrapy"]),
        (
            "l = ItemLoader(response=response)\nl.add_css('t', 'h2::text')\n"
            "l.add_css('t', 'p::text')\nl.add_value('u', response.url)\nyield l.load_item()",
            [{"t": "12", "u": "http://x.example/shop/"}],
            ["the processors of the item loader"],
        ),
    ],
)
def test_habits_of_spiders(body: str, result: list[object], said: list[str], tmp_path: Path) -> None:
    made = with_parse(body)
    expected = [f"http://x.example{one}" if isinstance(one, str) else one for one in result]
    assert found(made, tmp_path) == expected
    assert [note.text[: len(words)] for note, words in zip(made.notes, said, strict=True)] == said


def test_rules_hold_beside_a_start_method_that_adds_to_them(tmp_path: Path) -> None:
    made = drafted("""
        class MapSpider(SitemapSpider):
            name = "maps"
            sitemap_urls = ["http://x.example/robots.txt"]
            sitemap_rules = [("/shop/", "parse_shop")]

            async def start(self):
                async for one in super().start():
                    yield one
                yield scrapy.Request("http://x.example/about", self.parse_about)

            def parse_shop(self, response):
                yield {"shop": response.css("h1::text").get()}

            def parse_about(self, response):
                yield {"about": response.url}
        """)
    assert made.start == ("http://x.example/robots.txt",)
    assert [note.text for note in made.notes] == [
        "start adds requests to those of its base class: yield them from @NAME.on_start"
    ]
    assert found(made, tmp_path) == [{"shop": "Blue"}]


def test_settings_scope_and_constants(tmp_path: Path) -> None:
    made = drafted(
        """
        import re
        from .tools import clean

        WORD = re.compile("[a-z]+")

        def words(text):
            return WORD.findall(text)

        class Books(scrapy.Spider):
            name = "books"
            start_urls = ["http://x.example/"]
            allowed_domains = ["x.example", "y.example"]
            custom_settings = {
                "USER_AGENT": "me",
                "DEPTH_LIMIT": 3,
                "DEFAULT_REQUEST_HEADERS": {"X-A": "b"},
                "ITEM_PIPELINES": {"shop.Pipeline": 1},
                "ROBOTSTXT_OBEY": False,
            }
            base = "x"

            def __init__(self, category="all", **named):
                self.category = category

            def parse(self, response):
                yield {"words": words(self.base + "1y"), "category": self.category, "clean": clean}
        """
    )
    assert "max_depth=3" in made.text and "scope='any'" in made.text
    assert "category: str | None = 'all'" in made.text and "import re\n" in made.text
    texts = "\n".join(note.text for note in made.notes)
    assert len(made.notes) == 4
    for name in ("allowed_domains", "ITEM_PIPELINES", "ROBOTSTXT_OBEY", "from .tools import clean"):
        assert name in texts
    pages = loaded(made, tmp_path)
    assert pages.options["header"] == ("User-Agent: me", "X-A: b")
