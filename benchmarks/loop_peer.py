"""A crawl written by hand, in an environment with aiohttp and selectolax: `python -P loop_peer.py URL PAGES [RATE]`.

It has what such loops have: a set of URLs, a queue and 64 tasks. It keeps text and links of all pages in memory, asks
no robots.txt, tries nothing twice, and a kill loses everything. With a rate, it is for one host.
"""

from __future__ import annotations

import asyncio
import json
import sys
from urllib.parse import urldefrag, urljoin

from aiohttp import ClientSession, TCPConnector
from selectolax.lexbor import LexborHTMLParser

CONCURRENCY = 64


class Loop:
    def __init__(self, front: str, rate: float) -> None:
        self._front = front
        self._gap_s = 1 / rate if rate else 0.0
        self._next_at = 0.0
        self._seen = {front}
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self.found: dict[str, tuple[str, int, str, list[str]]] = {}
        """URL -> title, status, text and links"""

    async def run(self) -> None:
        self._queue.put_nowait(self._front)
        async with ClientSession(connector=TCPConnector(limit=CONCURRENCY)) as session:
            tasks = [asyncio.create_task(self._work(session)) for _ in range(CONCURRENCY)]
            waiting = asyncio.create_task(self._queue.join())
            done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            for task in (waiting, *tasks):
                task.cancel()
            for task in done:
                task.result()

    async def _work(self, session: ClientSession) -> None:
        while True:
            url = await self._queue.get()
            await self._turn()
            async with session.get(url) as response:
                self._read(url, response.status, await response.read())
            self._queue.task_done()

    async def _turn(self) -> None:
        if self._gap_s:
            now = asyncio.get_running_loop().time()
            start_at = max(now, self._next_at)
            self._next_at = start_at + self._gap_s
            await asyncio.sleep(start_at - now)

    def _read(self, url: str, status: int, body: bytes) -> None:
        page = LexborHTMLParser(body)
        title = page.css_first("title")
        hrefs = (anchor.attributes.get("href") for anchor in page.css("a[href]"))
        links = [urldefrag(urljoin(url, href)).url for href in hrefs if href]
        text = page.body.text(separator=" ") if page.body is not None else ""
        self.found[url] = (title.text() if title is not None else "", status, text, links)
        for link in links:
            if link not in self._seen and link.startswith(self._front):
                self._seen.add(link)
                self._queue.put_nowait(link)


if __name__ == "__main__":
    loop = Loop(sys.argv[1], float(sys.argv[3]) if len(sys.argv) > 3 else 0.0)
    asyncio.run(loop.run())
    print(json.dumps({"type": "summary", "pages": len(loop.found)}))
