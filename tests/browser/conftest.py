from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.fetch.address_guard import AddressGuard
from shoal.practice import Running, Shop, running
from tests.browser.installed_browser import installed_browser
from tests.browser.rendering import AGENT


@pytest.fixture(scope="session")
def program() -> str:
    return installed_browser()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(program: str) -> AsyncIterator[BrowserPool]:
    """One browser for the tests of a module."""
    pool = BrowserPool(AGENT, program, at_once=4, most_renderer_bytes=400_000_000)
    yield pool
    await pool.aclose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fetcher(pool: BrowserPool) -> AsyncIterator[BrowserFetcher]:
    fetcher = BrowserFetcher(pool, AGENT, AddressGuard(allow_private=True))
    yield fetcher
    await fetcher.aclose()


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(seed=7, hosts=1, categories=2, products=24, per_page=8)


@pytest.fixture(scope="module")
def shop_site(shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(shop, log=tmp_path_factory.mktemp("practice") / "visits.jsonl") as site:
        yield site
