import gzip
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

import pytest
from protego import Protego

from shoal.practice import Running, Shop
from tests.practice.visitor import get

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
HOSTS = ["127.0.0.1", "127.0.0.2"]


def _locations(url: str) -> list[str]:
    body = get(url)[1]
    xml = ElementTree.fromstring(gzip.decompress(body) if url.endswith(".gz") else body)
    return [element.text or "" for element in xml.iter(f"{SITEMAP}loc")]


@pytest.mark.parametrize("host", HOSTS)
def test_robots_txt_forbids_private_pages_and_names_the_sitemap(site: Running, host: str) -> None:
    robots = Protego.parse(get(site.url("/robots.txt", host))[1].decode())
    assert not robots.can_fetch(site.url("/private/orders.html", host), "shoal")
    assert robots.can_fetch(site.url("/about.html", host), "shoal")
    assert list(robots.sitemaps) == [site.url("/sitemap.xml", host)]


@pytest.mark.parametrize("host", HOSTS)
def test_sitemaps_list_the_shop_and_a_page_without_links(site: Running, shop: Shop, host: str) -> None:
    parts = _locations(site.url("/sitemap.xml", host))
    assert [part.endswith(".gz") for part in parts] == [False, True]
    listed = [location for part in parts for location in _locations(part)]
    truth = shop.truth()[host]
    shop_pages = {path for path in truth.pages if path.startswith(("/product/", "/category/"))}
    gone = {path for path, status in truth.pages.items() if status == 404}
    assert len(listed) == len(set(listed))
    assert {site.url(path, host) for path in (shop_pages - gone) | truth.unlinked.keys()} <= set(listed)
    assert not {site.url(path, host) for path in gone} & set(listed)


def test_pages_listed_only_in_the_sitemap_exist(site: Running, shop: Shop) -> None:
    for path in shop.truth()["127.0.0.1"].unlinked:
        assert b"<h1>" in get(site.url(path))[1]


@pytest.mark.parametrize("host", HOSTS)
def test_the_feed_lists_products_that_exist(site: Running, host: str) -> None:
    channel = ElementTree.fromstring(get(site.url("/feed.xml", host))[1]).find("channel")
    assert channel is not None
    items = channel.findall("item")
    assert len(items) == 20
    for item in items:
        assert parsedate_to_datetime(item.findtext("pubDate") or "").tzinfo
    assert b"product_page" in get(items[0].findtext("link") or "")[1]
