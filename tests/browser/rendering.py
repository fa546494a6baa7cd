"""Renders one page, for tests."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure
from shoal.model.rendering import Rendering, steps_of

AGENT = "shoal-test/1"
LONG_S = 60.0
TRIES = 4
"""On a busy machine Chromium ends a page now and then whose frames speak too early for it (bad IPC message 262)."""


async def render(
    fetcher: BrowserFetcher,
    url: str,
    steps: Sequence[dict[str, Any]] = (),
    rendering: Rendering | None = None,
    **call: Any,
) -> Exchange | Failure:
    rendering = (rendering or Rendering())._replace(steps=steps_of(steps))
    async with fetcher.pool.slot():
        return await fetcher.fetch(Fetch(url, rendering=rendering, **{"deadline_s": LONG_S, **call}))


async def rendered(fetcher: BrowserFetcher, url: str, steps: Sequence[dict[str, Any]] = (), **call: Any) -> Exchange:
    for _ in range(TRIES):
        answer = await render(fetcher, url, steps, **call)
        if isinstance(answer, Exchange):
            return answer
        assert answer.wants_repeat, answer
    raise AssertionError(answer)


async def failed(fetcher: BrowserFetcher, url: str, steps: Sequence[dict[str, Any]] = (), **call: Any) -> Failure:
    answer = await render(fetcher, url, steps, **call)
    assert isinstance(answer, Failure), answer
    return answer


def cards(answer: Exchange) -> list[dict[str, str | int]]:
    """The products of a page of the practice shop."""
    return [
        {
            "upc": node.attributes["data-upc"] or "",
            "name": node.css("h3 a")[0].attributes["title"] or "",
            "price": node.css(".price_color")[0].text(),
            "stock": int(node.css(".stock")[0].text()),
        }
        for node in LexborHTMLParser(answer.body).css("article.product_pod")
    ]


def text_of(answer: Exchange) -> str:
    body = LexborHTMLParser(answer.body).body
    return body.text() if body is not None else ""


def let_others_in(path: Path) -> None:
    """As root, the browser runs as another user."""
    path.chmod(0o755)
    for folder in path.parents:
        if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & 0o001 == 0:
            folder.chmod(folder.stat().st_mode | 0o011)


def processes_of_session(leader: int) -> list[int]:
    """All processes that a browser started: they are in the session that its first process leads."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if os.getsid(int(folder.name)) == leader:
                    found.append(int(folder.name))
            except ProcessLookupError:
                pass
    return found


def browser_of(process: int) -> int | None:
    """The first process of the browser that a crawl has started. Tests have other children with their own sessions."""
    for folder in Path("/proc").iterdir():
        try:
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            leads = folder.name.isdigit() and os.getsid(int(folder.name)) == int(folder.name)
            if leads and int(status[1]) == process and b"--remote-debugging-pipe" in (folder / "cmdline").read_bytes():
                return int(folder.name)
        except (OSError, IndexError):
            pass
    return None
