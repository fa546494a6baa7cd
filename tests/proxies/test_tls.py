"""Proxies that are reached over TLS, and tunnels through proxies to sites with TLS."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from shoal import Page, Request, spider
from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.jobs.proxy_view import view_pool
from shoal.store.results.listings import list_pages
from shoal.urls import Exclusions
from tests.fetch.secure import Authority, make_authority
from tests.proxies.bad_proxy import BadProxy, LoggedSite, listening
from tests.proxies.test_crawl_through_proxies import crawl, make_job


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = make_authority(tmp_path / "keys")
    made.context.set_alpn_protocols(["http/1.1"])
    return made


@pytest.mark.parametrize("is_secure_site", [False, True])
async def test_a_proxy_is_reached_over_tls(tmp_path: Path, authority: Authority, is_secure_site: bool) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = LoggedSite(pages=12, is_secure=is_secure_site)
            await stack.enter_async_context(listening(site, authority.context if is_secure_site else None))
            proxy = await stack.enter_async_context(listening(BadProxy("good"), authority.context))
            listed = f"https://ann:{{secret:ACME}}@127.0.0.1:{proxy.port} name=secure"
            trusted = Path(authority.ca_file).read_text()
            job, seen = await crawl(home, site, proxy_pool=listed, ca_certificates=trusted)
            assert (seen.frontier.pages, seen.frontier.dead) == (12, 0)
            assert site.addresses == {"127.0.0.9"}
            assert {page["via"].partition(" via ")[2] for page in list_pages(home.store, job, {})} == {"secure"}
            assert {b64decode(login.removeprefix("Basic ")) for login in proxy.logins} == {b"ann:hush"}


async def test_a_proxy_whose_certificate_is_refused_cools_down(tmp_path: Path, authority: Authority) -> None:
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = await stack.enter_async_context(listening(LoggedSite(pages=12)))
            good = await stack.enter_async_context(listening(BadProxy("good")))
            secure = await stack.enter_async_context(listening(BadProxy("good", "127.0.0.8"), authority.context))
            listed = f"{good.url}\nhttps://127.0.0.1:{secure.port} name=untrusted"
            job, seen = await crawl(home, site, proxy_pool=listed)
            assert (seen.frontier.pages, seen.frontier.dead) == (12, 0) and site.addresses == {"127.0.0.9"}
            proxies = {proxy["proxy"]: proxy for proxy in view_pool(home.store, {}, f"job {job}")["proxies"]}
    assert not secure.requests and proxies["untrusted"]["successes"] == 0


async def test_each_session_has_tunnels_of_its_own(tmp_path: Path, authority: Authority) -> None:
    """A gateway knows the session by the user name that opened the tunnel."""
    with Home(tmp_path / "home") as home:
        async with AsyncExitStack() as stack:
            site = LoggedSite(pages=3, is_secure=True)
            await stack.enter_async_context(listening(site, authority.context))
            gateway = await stack.enter_async_context(listening(BadProxy("good")))

            @spider(site.url, rate=0, allow_private=True)
            def start(page: Page) -> Iterator[Request]:
                for name in ("ann", "bob"):
                    for n in range(4):
                        yield page.request(f"/p0?{name}{n}", to=nothing, session=name)

            @start.callback
            def nothing(page: Page) -> Iterator[Any]:
                yield {"session": page.session}

            listed = f"http://user-{{session}}:x@127.0.0.1:{gateway.port}"
            trusted = Path(authority.ca_file).read_text()
            job = make_job(home, site, proxy_pool=listed, ca_certificates=trusted)
            async with asyncio.timeout(60):
                seen = (await Crawl(home, job, 8, Exclusions(), spider=start).run()).overview
    users: dict[str, set[str]] = {}
    for visit in site.visits:
        users.setdefault(visit.path.partition("?")[2][:3], set()).add(gateway.tunnels[visit.port])
    assert seen.frontier.pages == 9
    assert len(users["ann"]) == len(users["bob"]) == 1 and users["ann"] != users["bob"]
