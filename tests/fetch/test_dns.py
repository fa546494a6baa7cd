from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.dns import DnsResolver, place_of
from shoal.fetch.exchange import Exchange, Failure
from tests.fetch.conftest import AGENT, Lookup
from tests.fetch.site import Site


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def at(site: Site, name: str) -> str:
    return site.url.replace("127.0.0.1", name)


async def test_names_that_nobody_answers_for_keep_no_other_name_waiting(
    fetcher: Fetcher, site: Site, resolving: Callable[[Lookup], list[str]], released: threading.Event
) -> None:
    def lookup(name: str) -> str:
        if name.startswith("mute"):
            released.wait(20)
        return "127.0.0.1"

    resolving(lookup)
    mute = [asyncio.create_task(fetcher.fetch(Fetch(f"http://mute{n}.example/", deadline_s=2))) for n in range(100)]
    await asyncio.sleep(0)
    page = await fetcher.fetch(Fetch(f"{at(site, 'good.example')}/"))
    assert isinstance(page, Exchange)
    assert not any(task.done() for task in mute)
    answers = await asyncio.gather(*mute)
    assert {answer.kind for answer in answers if isinstance(answer, Failure)} == {"dns"}


async def test_a_name_is_looked_up_once_for_many_requests(
    fetcher: Fetcher, site: Site, resolving: Callable[[Lookup], list[str]]
) -> None:
    asked = resolving(lambda _: "127.0.0.1")
    pages = await asyncio.gather(*(fetcher.fetch(Fetch(f"{at(site, 'a.example')}/{n}")) for n in range(5)))
    pages.append(await fetcher.fetch(Fetch(f"{at(site, 'a.example')}/again")))
    assert all(isinstance(page, Exchange) for page in pages)
    assert asked == ["a.example"]


async def test_a_name_server_that_goes_away_harms_no_host_that_was_met(
    site: Site, resolving: Callable[[Lookup], list[str]]
) -> None:
    def lookup(name: str) -> str:
        if len(asked) > 1:
            raise socket.gaierror(f"nobody answers for {name}")
        return "127.0.0.1"

    asked = resolving(lookup)
    # Every name is to be looked up again at once.
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), names=DnsResolver(known_s=0.0))
    pages = [await fetcher.fetch(Fetch(f"{at(site, 'met.example')}/{n}")) for n in range(3)]
    await fetcher.aclose()
    assert all(isinstance(page, Exchange) for page in pages)
    assert len(asked) > 1


async def test_a_host_that_could_not_be_reached_is_looked_up_again(
    fetcher: Fetcher, site: Site, resolving: Callable[[Lookup], list[str]]
) -> None:
    addresses = iter(["127.0.0.77", "127.0.0.1"])
    asked = resolving(lambda _: next(addresses))
    first = await fetcher.fetch(Fetch(f"{at(site, 'moved.example')}/"))
    second = await fetcher.fetch(Fetch(f"{at(site, 'moved.example')}/"))
    assert isinstance(first, Failure)
    assert (first.kind, len(asked)) == ("connect", 2)
    assert isinstance(second, Exchange)


async def test_a_machine_without_room_for_a_thread_fails_one_lookup_and_no_more(
    fetcher: Fetcher, site: Site, resolving: Callable[[Lookup], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    resolving(lambda _: "127.0.0.1")
    with monkeypatch.context() as crowded:
        crowded.setattr(threading.Thread, "start", refuse)
        first = await fetcher.fetch(Fetch(f"{at(site, 'a.example')}/"))
    assert isinstance(first, Failure) and first.kind == "dns"
    assert isinstance(await fetcher.fetch(Fetch(f"{at(site, 'a.example')}/")), Exchange)


def test_addresses_and_names_that_are_not_for_servers_are_not_looked_up() -> None:
    for host in ("127.0.0.1:80", "[::1]:8080", "localhost", "shop.localhost:8000", "hidden.onion"):
        assert place_of(f"http://{host}/a") is None
    assert place_of("https://shop1.example/a") == "shop1.example:443"
    assert place_of("http://7-eleven.example:8080") == "7-eleven.example:8080"
