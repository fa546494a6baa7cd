"""Where connections go: past the guard, and over proxies that the operator names."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.exchange import Headers
from shoal.fetch.proxies.proxy_answers import is_from_proxy
from tests.fetch.asking import failed, got
from tests.fetch.conftest import AGENT, Lookup
from tests.fetch.site import Site, answer


async def test_private_addresses_are_refused_without_a_packet(site: Site) -> None:
    fetcher = Fetcher(AGENT, AddressGuard())
    for host in ("127.0.0.1", "2130706433", "localhost", "[::ffff:127.0.0.1]", "[::1]"):
        refused = await failed(fetcher, f"http://{host}:{site.port}/")
        assert refused.kind == "address_refused", host
        assert "127" not in refused.detail
    await fetcher.aclose()
    assert site.connections == 0


async def test_an_answer_over_a_connection_the_guard_would_not_open_is_thrown_away(site: Site) -> None:
    guard = AddressGuard(allow_private=True)
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
    fetcher = Fetcher(AGENT, AddressGuard())
    proxy = f"http://ann:secret@127.0.0.1:{site.port}"
    page = await got(fetcher, "http://shop.example/a?b=1", proxy=proxy)
    assert page.body == b"hello"
    assert site.asked[0].path == "http://shop.example/a?b=1"
    assert site.asked[0].headers["proxy-authorization"] == "Basic YW5uOnNlY3JldA=="
    assert (await failed(fetcher, f"{site.url}/", proxy=proxy)).kind == "address_refused"
    assert (await failed(fetcher, f"{site.url}/")).kind == "address_refused"
    assert len(site.asked) == 1
    await fetcher.aclose()


def test_inside_a_tunnel_every_answer_is_the_sites() -> None:
    forged = Headers([("Proxy-Authenticate", "Basic"), ("Server", "squid"), ("X-Squid-Error", "ERR_DNS_FAIL 0")])
    for status in (401, 407, 503):
        assert is_from_proxy("http://shop.example/", status, forged)
        assert not is_from_proxy("https://shop.example/", status, forged)


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
            # Only what arrives in place of a page can come from the site.
            assert failure.is_refused_by_proxy == (proxy == site.url and url.startswith("http:"))


def proxied_by(site: Site) -> str:
    return f"http://127.0.0.1:{site.port}"


@pytest.mark.parametrize(
    "addresses", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "168.63.129.16", "::1", "8.8.8.8 10.0.0.7"]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_name_that_has_a_refused_address_here_is_not_told_to_the_proxy(
    site: Site, resolving: Callable[[Lookup], list[str]], scheme: str, addresses: str
) -> None:
    asked = resolving(lambda _: addresses)
    fetcher = Fetcher(AGENT, AddressGuard())
    for _ in range(2):
        refused = await failed(fetcher, f"{scheme}://trap.example/", proxy=proxied_by(site))
        assert refused.kind == "address_refused"
    assert asked == ["trap.example"] and site.connections == 0
    await fetcher.aclose()


async def test_names_with_public_addresses_or_none_here_are_told_to_the_proxy(
    site: Site, resolving: Callable[[Lookup], list[str]]
) -> None:
    asked = resolving(lambda name: "8.8.8.8" if name == "shop.example" else "nowhere.invalid")
    fetcher = Fetcher(AGENT, AddressGuard())
    for name in ("shop.example", "far.example", "far.example"):
        assert (await got(fetcher, f"http://{name}/", proxy=proxied_by(site))).body == b"hello"
    assert asked == ["shop.example", "far.example"]
    await fetcher.aclose()


@pytest.mark.parametrize("allow_private", [False, True])
async def test_names_of_private_networks_that_have_no_address_here_are_not_told_to_the_proxy(
    site: Site, allow_private: bool
) -> None:
    fetcher = Fetcher(AGENT, AddressGuard(allow_private))
    for name in ("metadata.google.internal", "METADATA.google.internal.", "metadata.goog", "instance-data"):
        refused = await failed(fetcher, f"http://{name}/", proxy=proxied_by(site))
        assert refused.kind == "address_refused", name
    for name in ("intranet", "db.corp.internal", "printer.local", "nas.home.arpa"):
        if allow_private:
            assert (await got(fetcher, f"http://{name}/", proxy=proxied_by(site))).status == 200
        else:
            assert (await failed(fetcher, f"http://{name}/", proxy=proxied_by(site))).kind == "address_refused", name
    await fetcher.aclose()


async def test_a_socks_proxy_is_told_the_address_that_was_judged(resolving: Callable[[Lookup], list[str]]) -> None:
    answers = ["8.8.8.8"]
    asked = resolving(lambda _: answers[0])
    targets: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        methods = (await reader.readexactly(2))[1]
        await reader.readexactly(methods)
        writer.write(b"\x05\x00")
        targets.append(await reader.readexactly(10))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    fetcher = Fetcher(AGENT, AddressGuard())
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert (await failed(fetcher, "http://shop.example/", proxy=f"socks5://127.0.0.1:{port}")).kind == "proxy"
        # Version, command, reserved, IPv4, then the address and the port.
        assert targets == [b"\x05\x01\x00\x01\x08\x08\x08\x08\x00\x50"]
        answers[0] = "10.0.0.7"
        refused = await failed(fetcher, "http://trap.example/", proxy=f"socks5://127.0.0.1:{port}")
        assert refused.kind == "address_refused" and len(targets) == 1
    assert asked == ["shop.example", "trap.example"]
    await fetcher.aclose()


async def test_a_proxy_may_be_private_only_if_it_is_the_operators_and_never_a_clouds_own_service(site: Site) -> None:
    fetcher = Fetcher(AGENT, AddressGuard(private_proxy=False))
    failure = await failed(fetcher, "http://shop.example/", proxy=proxied_by(site))
    assert failure.kind == "proxy" and "proxy's address is not allowed" in failure.detail and site.connections == 0
    await fetcher.aclose()
    for guard in (AddressGuard(), AddressGuard(allow_private=True)):
        fetcher = Fetcher(AGENT, guard)
        failure = await failed(fetcher, "http://shop.example/", proxy="http://169.254.169.254:80")
        assert failure.kind == "proxy" and "not allowed" in failure.detail
        await fetcher.aclose()
