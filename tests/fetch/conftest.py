from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from tests.fetch.site import Site, serving

AGENT = "shoal/0.1.0 (+https://example.org/crawler)"


@pytest.fixture
async def fetcher() -> AsyncIterator[Fetcher]:
    fetcher = Fetcher(AGENT, Guard(allow_private=True))
    yield fetcher
    await fetcher.aclose()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Site()) as site:
        yield site
