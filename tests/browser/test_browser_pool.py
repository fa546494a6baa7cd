"""The browser of a process: replaced by pages, age and memory, lost without blame, and gone with its process."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import REST_S, BrowserPool
from shoal.browser.find_browser import BrowserMissing
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.exchange import FetchAborted
from tests.browser.rendering import AGENT, LONG_S, let_others_in, processes_of_session, render, rendered
from tests.fetch.site import Site, answer, hang, serving, until

HTML = ("Content-Type: text/html",)
HOLDS_A_PAGE = """
import asyncio, sys
from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_transfer import Fetch
from shoal.model.rendering import Rendering

async def main():
    pool = BrowserPool("test/1", sys.argv[1], own_network=sys.argv[3] == "True")
    process = await pool.start()
    print(process.pid, process._folder or "-", flush=True)
    await BrowserFetcher(pool, "test/1", AddressGuard(True)).fetch(Fetch(sys.argv[2], rendering=Rendering()))

asyncio.run(main())
"""


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving(Site(otherwise=answer(b"<p>hello", headers=HTML))) as site:
        yield site


def fetcher_of(pool: BrowserPool) -> BrowserFetcher:
    return BrowserFetcher(pool, AGENT, AddressGuard(allow_private=True))


async def test_a_browser_is_replaced_after_so_many_pages_and_with_age(program: str, site: Site) -> None:
    now = 0.0
    pool = BrowserPool(AGENT, program, pages_per_browser=2, most_age_s=100, clock=lambda: now)
    fetcher = fetcher_of(pool)
    first = await pool.start()
    for _ in range(3):
        await rendered(fetcher, site.url)
    assert pool.started == 2
    async with asyncio.timeout(LONG_S):
        await first.gone.wait()
    now = 101.0
    await rendered(fetcher, site.url)
    assert pool.started == 3
    await until(lambda: not processes_of_session(first.pid), LONG_S)
    await pool.aclose()


async def test_a_lost_browser_is_replaced_and_its_pages_are_not_blamed_at_once(program: str, site: Site) -> None:
    site.routes |= {"/hang": hang, "/hang?2": hang}
    pool = BrowserPool(AGENT, program, at_once=2)
    fetcher = fetcher_of(pool)
    process = await pool.start()
    pages = [asyncio.create_task(render(fetcher, f"{site.url}{path}")) for path in ("/hang", "/hang?2")]
    await until(lambda: len(site.asked) == 2, LONG_S)
    os.kill(process.pid, signal.SIGKILL)
    for page in pages:
        with pytest.raises(FetchAborted):
            await page
    await rendered(fetcher, site.url)
    assert pool.started == 2
    await pool.aclose()


async def test_a_page_that_is_open_whenever_a_browser_is_lost_is_blamed(program: str, site: Site) -> None:
    site.routes["/hang"] = hang
    pool = BrowserPool(AGENT, program, at_once=1)
    fetcher = fetcher_of(pool)
    for times in (1, 2):
        process = await pool.start()
        page = asyncio.create_task(render(fetcher, f"{site.url}/hang"))
        await until(lambda times=times: len(site.asked) == times, LONG_S)  # type: ignore[misc]
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(FetchAborted):
            await page
    refused = await render(fetcher, f"{site.url}/hang")
    assert getattr(refused, "kind", None) == "render"
    await pool.aclose()


async def test_a_cancelled_page_leaves_no_context(program: str, site: Site) -> None:
    site.routes["/hang"] = hang
    pool = BrowserPool(AGENT, program, at_once=1)
    fetcher = fetcher_of(pool)
    process = await pool.start()
    page = asyncio.create_task(render(fetcher, f"{site.url}/hang"))
    await until(lambda: len(site.asked) == 1, LONG_S)
    page.cancel()
    with pytest.raises(asyncio.CancelledError):
        await page
    async with asyncio.timeout(LONG_S):
        while (await process.browser.call("Target.getBrowserContexts"))["browserContextIds"]:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await pool.aclose()


@pytest.mark.parametrize("own_network", [True, False])
async def test_nothing_is_left_of_a_killed_process(program: str, site: Site, own_network: bool) -> None:
    site.routes["/spin"] = answer(b"<script>setTimeout(() => { for (;;) {} })</script>", headers=HTML)
    argv = [sys.executable, "-c", HOLDS_A_PAGE, program, f"{site.url}/spin", str(own_network)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as holder:  # noqa: ASYNC220 - it is killed
        assert holder.stdout is not None
        line = await asyncio.to_thread(holder.stdout.readline)
        leader, folder = int(line.split()[0]), line.split()[1]
        await until(lambda: len(site.asked) > 0, LONG_S)
        assert len(processes_of_session(leader)) > 2
        holder.kill()
    await until(lambda: not processes_of_session(leader), LONG_S)
    if folder != "-":
        # The next browser removes what the killed process could not.
        past = time.time() - 1_000
        os.utime(folder, (past, past))
        pool = BrowserPool(AGENT, program, own_network=False)
        await pool.start()
        await pool.aclose()
        assert not Path(folder).exists()


# Sockets of a browser that did not start are closed by the collector of garbage only.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_program_that_is_no_browser_is_refused_with_the_reason(tmp_path: Path) -> None:
    fake = tmp_path / "fake"
    fake.write_text("#!/bin/sh\necho 'No usable sandbox!' >&2\nexit 1\n")
    fake.chmod(0o755)
    let_others_in(tmp_path)
    now = 0.0
    pool = BrowserPool(AGENT, str(fake), clock=lambda: now)
    assert pool.pages
    with pytest.raises(BrowserMissing, match="its sandbox does not work here"):
        await pool.start()
    fake.unlink()
    # It is not tried again for each page.
    with pytest.raises(BrowserMissing, match="its sandbox does not work here"):
        await pool.start()
    assert (pool.started, pool.pages) == (0, 0)
    now = REST_S
    assert pool.pages and not pool.is_away
    with pytest.raises(BrowserMissing, match="is not a program"):
        await pool.start()


async def test_a_process_of_a_fleet_whose_browser_did_not_start_tries_again(program: str, tmp_path: Path) -> None:
    now, given = 0.0, tmp_path / "browser"
    let_others_in(tmp_path)
    pool = BrowserPool(AGENT, str(given), has_others=True, clock=lambda: now)
    with pytest.raises(BrowserMissing):
        await pool.start()
    tries = 0

    async def pause(_: float) -> None:
        nonlocal now, tries
        tries += 1
        assert pool.is_away and not pool.pages and "is not a program" in (pool.fault or "")
        if tries == 2:
            # Now it is installed.
            given.symlink_to(program)
            now = REST_S - 1
        elif tries == 3:
            now = REST_S

    await pool.start_when_possible(pause)
    assert tries == 3 and pool.pages and not pool.is_away and pool.fault is None
    await pool.aclose()
