"""Progress of a crawl that Python code started: one line on stderr, which it writes over."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from shoal.embedded.crawl import Crawl
from shoal.embedded.home import Home
from shoal.errors import FrontierLost
from shoal.wording import one_line, plural

SHOWN_EVERY_S = 0.5


def in_notebook() -> bool:
    """Whether IPython's kernel runs this: its front ends show what a terminal would."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


@asynccontextmanager
async def showing_progress(home: Home, crawl: Crawl, wanted: bool | None) -> AsyncIterator[None]:
    """`wanted` None: in a notebook only."""
    if not (in_notebook() if wanted is None else wanted):
        yield
        return
    showing = asyncio.create_task(_show(home, crawl))
    try:
        yield
    finally:
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        with suppress(FrontierLost):
            await _write(home, crawl)
        sys.stderr.write("\n")


async def _show(home: Home, crawl: Crawl) -> None:
    while True:
        with suppress(FrontierLost):
            await _write(home, crawl)
        await asyncio.sleep(SHOWN_EVERY_S)


async def _write(home: Home, crawl: Crawl) -> None:
    figures = await home.frontier.figures(crawl.job_id)
    reason = crawl.engine.waiting_for or crawl.note
    waiting = f", waiting: {one_line(reason)}" if reason else ""
    dead = f", {plural(figures.dead, 'dead letter')}" if figures.dead else ""
    queued = f"{figures.queued + figures.leased:,} queued"
    text = f"job {crawl.job_id}: {plural(figures.pages, 'page')}, {queued}{dead}{waiting}"
    sys.stderr.write(f"\r{text:<79}")
    sys.stderr.flush()
