"""The shop as a site: maps the paths of each host to answers, and says what a crawler must find there."""

from __future__ import annotations

import ipaddress
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from shoal.practice import account, api, feeds, pages, scripted
from shoal.practice.behaviour import Behaviour
from shoal.practice.catalogue import Branch
from shoal.practice.common_problems import common_problems
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Routes, Site, Visit, not_found, redirect

_FIRST_ADDRESS = ipaddress.IPv4Address("127.0.0.1")


@dataclass(frozen=True)
class Shop:
    """A chain of shops, one branch per host, the same for the same seed. Counts are per branch."""

    seed: int = 1
    hosts: int = 3
    categories: int = 5
    products: int = 60
    per_page: int = 10
    troubled: bool = True
    """Whether the first branch has problem pages. Without them there are only pages and one redirect per host."""

    @cached_property
    def addresses(self) -> tuple[str, ...]:
        return tuple(str(_FIRST_ADDRESS + index) for index in range(self.hosts))

    def answer(self, visit: Visit) -> Answer:
        return _unless_known(visit, self._routes[visit.host].answer(visit))

    def truth(self) -> dict[str, ExpectedResults]:
        """The expected results of each host, by address. The front pages link the hosts to each other."""
        return {branch.address: _truth(branch, self._behaviours_of(branch)) for branch in self._branches}

    def items(self, address: str) -> list[scripted.Item]:
        """The products of a host, as a spider must get them from each page of `scripted.LIST_PAGES`."""
        return scripted.items(self._branches[self.addresses.index(address)])

    @cached_property
    def _branches(self) -> tuple[Branch, ...]:
        return tuple(self._branch(index, address) for index, address in enumerate(self.addresses))

    def _branch(self, index: int, address: str) -> Branch:
        troubled = self.troubled and index == 0
        return Branch(self.seed, address, index, self.categories, self.products, self.per_page, troubled)

    @cached_property
    def _routes(self) -> dict[str, Routes]:
        return {branch.address: Routes(self._table(branch)) for branch in self._branches}

    def _table(self, branch: Branch) -> dict[str, Site]:
        behaviours = self._behaviours_of(branch)
        table: dict[str, Site] = {
            "/": partial(pages.front_page, branch, self._branches),
            "/index.html": redirect(301, "/"),
            "/product/*": partial(_product, branch),
            "/category/*": partial(_category, branch),
            **{path: partial(pages.static_page, branch, path) for path in pages.STATIC_PAGES},
            pages.CLEARANCE: partial(pages.clearance_page, branch),
            "/robots.txt": partial(feeds.robots, branch),
            "/sitemap.xml": partial(feeds.sitemap_index, branch),
            "/sitemap-pages.xml": partial(feeds.pages_sitemap, branch),
            "/sitemap-products-*": partial(feeds.products_sitemap, branch),
            "/feed.xml": partial(feeds.feed, branch),
            **api.routes(branch),
            **account.routes(branch),
            **scripted.routes(branch),
        }
        if branch.troubled:
            table[pages.ODDS_AND_ENDS] = partial(pages.odds_and_ends, branch, behaviours)
        for behaviour in behaviours:
            table |= behaviour.routes
        return table

    @cached_property
    def _behaviours(self) -> tuple[Behaviour, ...]:
        return (*common_problems(),)

    def _behaviours_of(self, branch: Branch) -> tuple[Behaviour, ...]:
        return self._behaviours if branch.troubled else ()


def _unless_known(visit: Visit, answer: Answer) -> Answer:
    """Adds an ETag; answers 304 without a body if the visitor has it."""
    if answer.status != 200 or answer.raw is not None:
        return answer
    etag = f'"{zlib.crc32(answer.body):08x}"'
    if visit.headers.get("if-none-match") == etag:
        return Answer(304, b"", answer.content_type, {"ETag": etag}, answer.delay_s)
    return answer._replace(headers={**answer.headers, "ETag": etag})


def _category(branch: Branch, visit: Visit) -> Answer:
    found = branch.category_at(visit.path)
    return pages.category_page(branch, *found, visit) if found else not_found(visit)


def _product(branch: Branch, visit: Visit) -> Answer:
    product = branch.product_at(visit.path)
    return pages.product_page(branch, product, visit) if product else not_found(visit)


def _truth(branch: Branch, behaviours: Sequence[Behaviour]) -> ExpectedResults:
    paths = ["/", "/feed.xml", *pages.STATIC_PAGES]
    if branch.troubled:
        paths.append(pages.ODDS_AND_ENDS)
    for category in branch.categories:
        for page in range(1, category.page_count + 1):
            paths.append(category.path(page))
            paths += [product.path for product in branch.listed(category, page)]
    truth = ExpectedResults(
        pages=dict.fromkeys(paths, 200) | {gone.path: 404 for _, gone in branch.gone_products},
        redirects={"/index.html": "/"},
        unlinked={pages.CLEARANCE: 200},
    )
    for behaviour in behaviours:
        truth |= behaviour.truth
    return truth
