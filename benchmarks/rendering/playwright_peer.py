"""The crawl in Playwright: `python -P playwright_peer.py context|browser PROGRAM URL PAGES`.

`context` opens a browser context per page in one browser, as its documentation advises; `browser` a browser per page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from playwright.async_api import Playwright, async_playwright

AT_ONCE = 4
_LINKS = "all => all.map(a => a.href)"
Opening = Callable[[], AbstractAsyncContextManager[Any]]


async def crawl(kind: str, program: str, url: str) -> int:
    async with async_playwright() as playwright:
        if kind == "browser":
            return await _crawl(lambda: _browser(playwright, program), url)
        browser = await playwright.chromium.launch(executable_path=program)
        try:
            return await _crawl(lambda: _context(browser), url)
        finally:
            await browser.close()


async def _crawl(opening: Opening, front: str) -> int:
    seen, queue, done = {front}, asyncio.Queue[str](), []
    queue.put_nowait(front)

    async def work() -> None:
        while True:
            url = await queue.get()
            async with opening() as page:
                answer = await page.goto(url)
                await page.wait_for_selector("#done", state="attached")
                html = await page.content()
                done.append((url, await page.title(), answer.status, len(html)))
                for link in await page.eval_on_selector_all("a", _LINKS):
                    if link not in seen:
                        seen.add(link)
                        queue.put_nowait(link)
            queue.task_done()

    workers = [asyncio.create_task(work()) for _ in range(AT_ONCE)]
    joined = asyncio.create_task(queue.join())
    await asyncio.wait([joined, *workers], return_when=asyncio.FIRST_COMPLETED)
    for task in (joined, *workers):
        if task.done():
            task.result()
        task.cancel()
    return len(done)


@asynccontextmanager
async def _context(browser: Any) -> AsyncIterator[Any]:
    context = await browser.new_context()
    try:
        yield await context.new_page()
    finally:
        await context.close()


@asynccontextmanager
async def _browser(playwright: Playwright, program: str) -> AsyncIterator[Any]:
    browser = await playwright.chromium.launch(executable_path=program)
    try:
        yield await browser.new_page()
    finally:
        await browser.close()


if __name__ == "__main__":
    crawled = asyncio.run(crawl(sys.argv[1], sys.argv[2], sys.argv[3]))
    print(json.dumps({"type": "summary", "pages": crawled}))
