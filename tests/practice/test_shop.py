import re

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from shoal.practice import Answer, Shop, Visit


def _get(shop: Shop, path: str, host: str = "127.0.0.1") -> Answer:
    return shop.answer(Visit(host, 80, "GET", path, path, "", {}))


def _whole(shop: Shop) -> dict[tuple[str, str], bytes]:
    truth = shop.truth()
    return {(host, path): _get(shop, path, host).body for host in shop.addresses for path in truth[host].pages}


def _product_paths(shop: Shop, host: str) -> list[str]:
    pages = shop.truth()[host].pages
    return [path for path, status in pages.items() if path.startswith("/product/") and status == 200]


def _one(page: LexborHTMLParser, selector: str) -> LexborNode:
    [node] = page.css(selector)
    return node


def test_the_same_seed_gives_the_same_shop_to_the_byte() -> None:
    assert _whole(Shop(seed=3, products=12)) == _whole(Shop(seed=3, products=12))


def test_a_matching_etag_gets_a_304_and_another_gets_the_page() -> None:
    shop = Shop(hosts=1)
    etag = _get(shop, "/").headers["ETag"]

    def again(path: str) -> Answer:
        return shop.answer(Visit("127.0.0.1", 80, "GET", path, path, "", {"if-none-match": etag}))

    assert (again("/").status, again("/").body) == (304, b"")
    assert again("/feed.xml").status == 200


def test_another_seed_gives_another_shop() -> None:
    assert Shop(seed=3).truth() != Shop(seed=4).truth()


def test_counts_are_per_host() -> None:
    shop = Shop(hosts=2, categories=3, products=20, per_page=4)
    for host in shop.addresses:
        assert len(_product_paths(shop, host)) == 20
        categories = [path for path in shop.truth()[host].pages if path.startswith("/category/")]
        # 7 + 7 + 6 products, four to a page.
        assert len(categories) == 6


@pytest.mark.parametrize(
    ("host", "language", "price"),
    [
        ("127.0.0.1", "en-GB", r"£[0-9,]+\.\d\d"),
        ("127.0.0.2", "de", r"[0-9.]+,\d\d €"),
        ("127.0.0.3", "fr", r"[0-9\u202f]+,\d\d\u00a0€"),
        ("127.0.0.4", "en-US", r"[0-9,]+\.\d\d USD"),
    ],
)
def test_each_host_has_its_language_and_price_format(host: str, language: str, price: str) -> None:
    shop = Shop(hosts=4)
    for path in _product_paths(shop, host):
        page = LexborHTMLParser(_get(shop, path, host).body)
        assert _one(page, "html").attributes["lang"] == language
        assert re.fullmatch(price, _one(page, ".price_color").text())


def test_a_product_page_has_the_fields_of_a_spider() -> None:
    shop = Shop()
    path = _product_paths(shop, "127.0.0.1")[0]
    page = LexborHTMLParser(_get(shop, path).body)
    assert _one(page, "h1").text() in _one(page, "title").text()
    assert re.fullmatch(r"[0-9a-f]{16}", _one(page, "th:lexbor-contains('UPC') + td").text())
    assert _one(page, "link[rel=canonical]").attributes["href"] == f"http://127.0.0.1:80{path}"
    assert _one(page, "meta[name=description]").attributes["content"]
    assert len(page.css("ul.breadcrumb li")) == 3


def test_category_pages_link_to_the_next_until_the_last() -> None:
    shop = Shop(hosts=1, categories=1, products=9, per_page=4)
    path, names = "/category/kitchen/index.html", []
    while path:
        page = LexborHTMLParser(_get(shop, path).body)
        names += [link.attributes["title"] for link in page.css("article.product_pod h3 a")]
        onward = page.css_first("li.next a")
        path = f"/category/kitchen/{onward.attributes['href']}" if onward else ""
    assert len(names) == 9


@pytest.mark.parametrize(
    "path",
    [
        "/category/kitchen/page-1.html",
        "/category/kitchen/page-99.html",
        "/category/kitchen/page-02.html",
        "/category/nowhere/index.html",
        "/product/blue-kettle-0.html",
        "/product/no-such-name-1.html",
        "/product/.html",
        "/sitemap-products-0.xml.gz",
        "/sitemap-products-99.xml.gz",
        "/sitemap-products-x.xml.gz",
    ],
)
def test_similar_but_wrong_paths_are_not_found(path: str) -> None:
    assert _get(Shop(), path).status == 404


def test_a_shop_of_many_products_costs_nothing_until_visited() -> None:
    shop = Shop(products=10_000_000)
    assert _get(shop, "/").status == 200


def test_more_than_254_hosts_have_different_addresses() -> None:
    shop = Shop(hosts=300)
    assert len(set(shop.addresses)) == 300
    assert shop.addresses[-1] == "127.0.1.44"
