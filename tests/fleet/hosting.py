"""A site of a test's own making, served from a thread of the test: `with hosting(answer, hosts=2) as site`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shoal.practice.server import Server
from shoal.practice.visit import Site


@contextmanager
def hosting(site: Site, hosts: int) -> Iterator[Server]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = Server(site, [f"127.0.0.{place}" for place in range(1, hosts + 1)])
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
