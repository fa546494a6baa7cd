"""Where connections go: past the guard, and over proxies that the operator names."""

from __future__ import annotations

import socket

import pytest

from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from tests.fetch.asking import failed, got
from tests.fetch.conftest import AGENT
from tests.fetch.site import Site, answer


async def test_private_addresses_are_refused_without_a_packet(site: Site) -> None:
    fetcher = Fetcher(AGENT, Guard())
    for host in ("127.0.0.1", "2130706433", "localhost", "[::ffff:127.0.0.1]", "[::1]"):
        refused = await failed(fetcher, f"http://{host}:{site.port}/")
        assert refused.kind == "address_refused", host
        assert "127" not in refused.detail
    await fetcher.aclose()
    assert site.connections == 0


async def test_an_answer_over_a_connection_the_guard_would_not_open_is_thrown_away(site: Site) -> None:
    guard = Guard(allow_private=True)
    fetcher = Fetcher(AGENT, guard)
    await got(fetcher, site.url)
    guard.allow_private = False
    guard.allows.cache_clear()
    assert (await failed(fetcher, site.url)).kind == "address_refused"
    assert site.connections == 1
    await fetcher.aclose()


async def test_the_environments_proxy_is_not_obeyed(
    fetcher: Fetcher, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert (await got(fetcher, site.url)).status == 200


async def test_a_proxy_carries_the_request_and_hides_its_own_credentials(site: Site) -> None:
    # The guard lets the operator's proxy be private although targets may not be.
    fetcher = Fetcher(AGENT, Guard())
    proxy = f"http://ann:secret@127.0.0.1:{site.port}"
    page = await got(fetcher, "http://shop.example/a?b=1", proxy=proxy)
    assert page.body == b"hello"
    assert site.asked[0].path == "http://shop.example/a?b=1"
    assert site.asked[0].headers["proxy-authorization"] == "Basic YW5uOnNlY3JldA=="
    assert (await failed(fetcher, f"{site.url}/", proxy=proxy)).kind == "address_refused"
    assert (await failed(fetcher, f"{site.url}/")).kind == "address_refused"
    assert len(site.asked) == 1
    await fetcher.aclose()


async def test_a_proxy_that_does_not_work_is_a_proxy_failure(fetcher: Fetcher, site: Site) -> None:
    site.otherwise = answer(b"", "407 Proxy Authentication Required", ("Proxy-Authenticate: Basic",))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        dead = f"http://ann:secret@127.0.0.1:{bound.getsockname()[1]}"
        for url, proxy in (
            ("http://shop.example/", site.url),
            ("https://shop.example/", site.url),
            ("http://shop.example/", dead),
            ("http://shop.example/", "http://no-such-name.invalid:80"),
        ):
            failure = await failed(fetcher, url, proxy=proxy)
            assert failure.kind == "proxy", (url, proxy)
            assert "secret" not in failure.detail
