"""Big bodies come no faster than they are done with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.body_memory import FREE_BYTES, MOST_AHEAD, PATIENCE_S, BodyMemory
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_multi import EpollMulti
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure
from tests.fetch.conftest import AGENT
from tests.fetch.site import Asked, Route, Site, answer, hang

BIG = 1_000_000
MANY = 12
PATIENT_S = 60.0
"""So long that nobody is let on for having waited, however slow the machine is."""


@asynccontextmanager
async def fetching(body_memory: BodyMemory) -> AsyncIterator[Fetcher]:
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), body_memory=body_memory)
    yield fetcher
    await fetcher.aclose()


async def big(fetcher: Fetcher, site: Site, path: str = "/big") -> Exchange:
    answered = await fetcher.fetch_packed(Fetch(site.url + path))
    assert isinstance(answered, Exchange)
    return answered


async def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.002)


def unending(length: int, first: int) -> Route:
    """A body of which only the beginning comes."""

    async def route(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + bytes(first))
        await writer.drain()
        await asyncio.Event().wait()

    return route


async def test_bodies_beyond_the_bound_wait_until_others_are_let_go(site: Site) -> None:
    site.routes["/big"] = answer(bytes(BIG))
    body_memory = BodyMemory(3 * BIG)
    async with fetching(body_memory) as fetcher:
        fetches = [asyncio.create_task(big(fetcher, site)) for _ in range(MANY)]
        waiting = set(fetches)
        while waiting:
            ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            # One more than there is room for: how large a body is shows as it comes.
            assert body_memory.bytes <= (3 + MOST_AHEAD + 1) * BIG
            for fetched in ended:
                assert len(fetched.result().raw) == BIG
                fetched.result().let_go()
        assert body_memory.bytes == 0


async def test_what_is_not_let_go_is_full(site: Site) -> None:
    site.routes["/big"] = answer(bytes(BIG))
    async with fetching(BodyMemory(BIG)) as fetcher:
        held = await big(fetcher, site)
        assert fetcher.is_full
        held.let_go()
        held.let_go()
        assert not fetcher.is_full


async def test_a_small_body_never_waits(site: Site) -> None:
    site.routes["/big"], site.routes["/small"] = answer(bytes(BIG)), answer(bytes(FREE_BYTES))
    async with fetching(BodyMemory(BIG, PATIENT_S)) as fetcher:
        held = [await big(fetcher, site) for _ in range(1 + MOST_AHEAD)]
        async with asyncio.timeout(PATIENT_S / 2):
            assert (await big(fetcher, site, "/small")).is_small
        assert len(held) == 1 + MOST_AHEAD


async def test_those_who_drip_hold_nobody_up_for_long(site: Site) -> None:
    site.routes["/big"], site.routes["/drip"] = answer(bytes(BIG)), unending(BIG, BIG // 2)
    body_memory = BodyMemory(BIG)
    async with fetching(body_memory) as fetcher:
        drips = [asyncio.create_task(big(fetcher, site, "/drip")) for _ in range(2 + MOST_AHEAD)]
        await until(lambda: body_memory.bytes > 2 * BIG)
        assert len((await big(fetcher, site)).raw) == BIG
        for drip in drips:
            drip.cancel()
        await asyncio.gather(*drips, return_exceptions=True)


async def test_a_body_that_has_waited_spoils_no_connection(site: Site) -> None:
    site.routes["/big"] = answer(bytes(BIG))
    async with fetching(BodyMemory(BIG)) as fetcher:
        held = [await big(fetcher, site) for _ in range(1 + MOST_AHEAD)]
        connections = site.connections
        waiting = asyncio.create_task(big(fetcher, site))
        multi = fetcher._multi
        assert isinstance(multi, EpollMulti)
        await until(lambda: bool(multi.unusable_ports))
        for each in held:
            each.let_go()
        (await waiting).let_go()
        (await big(fetcher, site)).let_go()
        assert (multi.unusable_ports, site.connections) == (set(), connections)


async def test_a_transfer_that_ends_while_it_waits_gives_its_place_back(site: Site) -> None:
    site.routes["/big"] = answer(bytes(BIG))
    body_memory = BodyMemory(BIG, PATIENT_S)
    async with fetching(body_memory) as fetcher:
        held = [await big(fetcher, site) for _ in range(1 + MOST_AHEAD)]
        before = body_memory.bytes
        cancelled = asyncio.create_task(big(fetcher, site))
        await until(lambda: len(site.asked) == len(held) + 1)
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        assert body_memory.bytes == before
        for each in held:
            each.let_go()
        assert (await big(fetcher, site)).hold is not None


LIMIT_S = 1.5 * PATIENCE_S


@asynccontextmanager
async def paused(fetcher: Fetcher, site: Site, path: str) -> AsyncIterator[asyncio.Task[Exchange | Failure]]:
    """A transfer that pauses for longer than its limit of time: another is before it."""
    site.routes["/big"] = answer(bytes(BIG), headers=("Connection: close",))
    held = [await big(fetcher, site) for _ in range(1 + MOST_AHEAD)]
    before = asyncio.create_task(big(fetcher, site))
    await until(lambda: len(site.asked) == len(held) + 1)
    yield asyncio.create_task(fetcher.fetch_packed(Fetch(site.url + path, deadline_s=LIMIT_S)))
    await before


async def test_the_time_in_which_a_transfer_pauses_is_not_its_hosts(site: Site) -> None:
    began = time.monotonic()
    async with fetching(BodyMemory(BIG)) as fetcher, paused(fetcher, site, "/big") as late:
        came = await late
        assert isinstance(came, Exchange) and len(came.raw) == BIG
        assert time.monotonic() - began > LIMIT_S > came.latency_s


async def test_a_transfer_that_paused_has_what_was_left_of_its_time_and_the_next_one_all(site: Site) -> None:
    site.routes["/drip"], site.routes["/silent"] = unending(BIG, BIG // 2), hang
    async with fetching(BodyMemory(BIG)) as fetcher:
        async with paused(fetcher, site, "/drip") as late:
            began = time.monotonic()
            ended = await asyncio.wait_for(late, 60)
            assert isinstance(ended, Failure) and ended.kind == "timeout"
            assert time.monotonic() - began > LIMIT_S + PATIENCE_S
            assert ended.latency_s < 4 * LIMIT_S
        after = await fetcher.fetch_packed(Fetch(site.url + "/silent", deadline_s=LIMIT_S))
        assert isinstance(after, Failure) and after.kind == "timeout"
        assert after.latency_s < LIMIT_S + PATIENCE_S


async def test_whoever_fetches_without_holding_waits_for_nobody(site: Site) -> None:
    site.routes["/big"] = answer(bytes(BIG))
    body_memory = BodyMemory(BIG, PATIENT_S)
    async with fetching(body_memory) as fetcher:
        async with asyncio.timeout(PATIENT_S / 2):
            for _ in range(MANY):
                assert isinstance(await fetcher.fetch(Fetch(site.url + "/big")), Exchange)
        assert body_memory.bytes == 0


@pytest.mark.parametrize("most_bytes", [FREE_BYTES, 10 * BIG])
async def test_a_paused_body_comes_whole(site: Site, most_bytes: int) -> None:
    bodies = {f"/{n}": bytes([n]) * (BIG + n) for n in range(MANY)}
    site.routes.update({path: answer(body) for path, body in bodies.items()})
    async with fetching(BodyMemory(most_bytes)) as fetcher:

        async def fetched(path: str) -> bool:
            got = await big(fetcher, site, path)
            got.let_go()
            return got.raw == bodies[path]

        assert all(await asyncio.gather(*map(fetched, bodies)))
