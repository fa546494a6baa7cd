"""A site of a test's own making, served from a thread of the test: `with hosting(answer, hosts=2) as site`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from shoal.practice.http_head import answer_head
from shoal.practice.request import Answer, Site, Visit
from shoal.practice.server import Server

LOOK_EVERY_S = 0.02


class Meeting:
    """A site that holds some of its visits until there are more of them at once than one process makes: so that
    several processes have a part in them, whoever is quicker."""

    def __init__(self, site: Site, at_once: int, holds: Callable[[Visit], bool]) -> None:
        self._site = site
        self._at_once = at_once
        self._holds = holds
        self._held = 0
        self.more_than_one_came = False
        self.statuses: list[int] = []
        """Of the visits that it holds."""

    def answer(self, visit: Visit) -> Answer:
        answer = self._site(visit)
        if not self._holds(visit):
            return answer
        self.statuses.append(answer.status)
        if self.more_than_one_came:
            return answer
        return answer._replace(raw=self._pieces(answer), pause_s=LOOK_EVERY_S)

    def _pieces(self, answer: Answer) -> Iterator[bytes]:
        self._held += 1
        try:
            while not self.more_than_one_came:
                self.more_than_one_came = self._held > self._at_once
                yield b""
        finally:
            self._held -= 1
        yield answer_head(answer, closing=True) + answer.body


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
