from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange, Failure
from shoal.fetch.guard import Guard
from shoal.fetch.transfer import Fetch
from tests.fetch.conftest import AGENT
from tests.fetch.secure import Authority, H2Site, make_authority
from tests.fetch.site import serving


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture
async def site(authority: Authority) -> AsyncIterator[H2Site]:
    site = H2Site()
    async with serving(site, authority.context):
        yield site


async def test_http2_streams_share_one_connection(site: H2Site, authority: Authority) -> None:
    fetcher = Fetcher(AGENT, Guard(allow_private=True), ca_file=authority.ca_file)
    await fetcher.fetch(Fetch(f"{site.url}/first"))
    pages = await asyncio.gather(*(fetcher.fetch(Fetch(f"{site.url}/{number}")) for number in range(20)))
    await fetcher.aclose()
    for number, page in enumerate(pages):
        assert isinstance(page, Exchange), page
        assert (page.version, page.status, page.body) == ("2", 200, f"/{number}".encode())
        assert page.headers.get("content-type") == "text/plain"
    assert (site.streams, site.connections) == (21, 1)


async def test_a_certificate_nobody_vouches_for_is_a_tls_failure(site: H2Site) -> None:
    fetcher = Fetcher(AGENT, Guard(allow_private=True))
    failure = await fetcher.fetch(Fetch(site.url))
    await fetcher.aclose()
    assert isinstance(failure, Failure)
    assert failure.kind == "tls"
    assert site.streams == 0
