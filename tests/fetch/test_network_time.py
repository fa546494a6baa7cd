"""The time that a host took, told from the time that its answer waited for our process."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from tests.fetch.asking import got
from tests.fetch.site import Asked, Site, serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the times of a connection")

HOST_S = 0.2
OURS_S = 1.0


@pytest.fixture
def slow_site() -> Iterator[Site]:
    """In a thread of its own, so that it answers while our event loop is blocked."""
    site, ready = Site(), threading.Event()

    async def page(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(HOST_S)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")

    async def serve() -> None:
        async with serving(site):
            ready.set()
            while not stop.is_set():  # noqa: ASYNC110 - the event belongs to another thread
                await asyncio.sleep(0.02)

    stop = threading.Event()
    site.otherwise = page
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(20)
    yield site
    stop.set()
    thread.join()


async def test_a_blocked_event_loop_is_not_the_hosts_time(fetcher: Fetcher, slow_site: Site) -> None:
    await got(fetcher, f"{slow_site.url}/")
    waiting = asyncio.create_task(fetcher.fetch(Fetch(f"{slow_site.url}/")))
    async with asyncio.timeout(20):
        while len(slow_site.asked) < 2:  # noqa: ASYNC110 - it happens in another thread
            await asyncio.sleep(0.005)
    time.sleep(OURS_S)  # noqa: ASYNC251 - this is the delay that must not count
    answer = await waiting
    assert not hasattr(answer, "kind") and answer.network_s is not None
    assert answer.latency_s > OURS_S
    assert HOST_S * 0.9 < answer.network_s < answer.latency_s - OURS_S / 2
