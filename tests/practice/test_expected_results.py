"""An independent crawler finds the expected results of the shop."""

import dataclasses

from shoal.practice import ExpectedResults, Running, Shop, running
from tests.practice.tiny_crawler import TinyCrawler


def _linked(truth: ExpectedResults) -> ExpectedResults:
    """A crawler that only follows links cannot find the others."""
    return dataclasses.replace(truth, unlinked={})


def test_a_crawl_from_the_first_front_page_finds_the_expected_results_of_all_hosts(site: Running, shop: Shop) -> None:
    found = TinyCrawler(list(shop.addresses), site.port).crawl()
    assert found == {host: _linked(truth) for host, truth in shop.truth().items()}


def test_a_crawl_that_stays_on_its_host_finds_the_same_there(site: Running, shop: Shop) -> None:
    for host in shop.addresses:
        assert TinyCrawler([host], site.port).crawl() == {host: _linked(shop.truth()[host])}


def test_the_first_host_has_every_kind_of_outcome(shop: Shop) -> None:
    truth = shop.truth()["127.0.0.1"]
    assert sorted(set(truth.pages.values())) == [200, 404]
    assert set(truth.dead.values()) == {500, 302}
    assert truth.redirects and truth.dropped and truth.skipped and truth.unlinked


def test_a_shop_without_problems_has_only_pages_and_one_redirect() -> None:
    shop = Shop(hosts=1, products=5, troubled=False)
    with running(shop) as site:
        found = TinyCrawler(["127.0.0.1"], site.port).crawl()["127.0.0.1"]
    assert set(found.pages.values()) == {200}
    assert found == ExpectedResults(pages=shop.truth()["127.0.0.1"].pages, redirects={"/index.html": "/"})
