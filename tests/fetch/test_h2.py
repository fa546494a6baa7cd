from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange
from shoal.fetch.tls_policy import TlsPolicy
from tests.fetch.conftest import AGENT
from tests.fetch.secure import Authority, H2Site, make_authority
from tests.fetch.site import Asked, Site, answer, serving


def trusting(authority: Authority) -> TlsPolicy:
    return TlsPolicy(ca_certificates=Path(authority.ca_file).read_text())


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return make_authority(tmp_path)


@pytest.fixture
async def site(authority: Authority) -> AsyncIterator[H2Site]:
    site = H2Site()
    async with serving(site, authority.context):
        yield site


async def test_http2_streams_share_one_connection(site: H2Site, authority: Authority) -> None:
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), tls=trusting(authority))
    await fetcher.fetch(Fetch(f"{site.url}/first"))
    pages = await asyncio.gather(*(fetcher.fetch(Fetch(f"{site.url}/{number}")) for number in range(20)))
    await fetcher.aclose()
    for number, page in enumerate(pages):
        assert isinstance(page, Exchange), page
        assert (page.version, page.status, page.body) == ("2", 200, f"/{number}".encode())
        assert page.headers.get("content-type") == "text/plain"
    assert (site.streams, site.connections) == (21, 1)


async def test_requests_made_at_once_share_the_first_connection(site: H2Site, authority: Authority) -> None:
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), tls=trusting(authority))
    pages = await asyncio.gather(*(fetcher.fetch(Fetch(f"{site.url}/{number}")) for number in range(20)))
    await fetcher.aclose()
    assert all(isinstance(page, Exchange) for page in pages)
    assert (site.streams, site.connections) == (20, 1)


async def test_a_secure_host_without_http2_is_asked_over_several_connections(authority: Authority) -> None:
    authority.context.set_alpn_protocols(["http/1.1"])
    async with serving(Site(), authority.context) as site:
        both_are_here = asyncio.Event()

        async def wait_for_the_other(asked: Asked, writer: asyncio.StreamWriter) -> None:
            if len(site.asked) == 2:
                both_are_here.set()
            await both_are_here.wait()
            await answer(b"hello")(asked, writer)

        site.otherwise = wait_for_the_other
        fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), tls=trusting(authority))
        secure = site.url.replace("http:", "https:")
        calls = [Fetch(f"{secure}/{number}", deadline_s=10) for number in range(2)]
        pages = await asyncio.gather(*map(fetcher.fetch, calls))
        await fetcher.aclose()
    assert [isinstance(page, Exchange) and page.version for page in pages] == ["1.1", "1.1"]


async def test_the_authorities_are_those_of_ssl_cert_file(
    site: H2Site, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", authority.ca_file)
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True))
    page = await fetcher.fetch(Fetch(f"{site.url}/"))
    await fetcher.aclose()
    assert isinstance(page, Exchange)
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    with pytest.raises(UsageError, match="cannot read SSL_CERT_FILE"):
        Fetcher(AGENT, AddressGuard(allow_private=True))
