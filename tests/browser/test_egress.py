"""What a browser asks for by itself reaches nobody either: names, and the certificates of issuers."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.fetch.address_guard import AddressGuard
from shoal.practice.hostile.browser_egress import Arrival, Canaries
from tests.browser.rendering import AGENT, failed
from tests.fetch.secure import certify
from tests.practice.bare_browser import browsing
from tests.practice.test_browser_egress import arrived


class OneAddress(AddressGuard):
    """Allows the site, and nothing else."""

    def _allows(self, ip: str) -> bool:
        return ip == "127.0.0.1"


async def _run(*argv: str) -> tuple[int | None, str, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", *argv, stdout=pipe, stderr=pipe)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def test_a_page_that_tries_every_way_out_asks_for_no_name(program: str) -> None:
    """By flags and proxy alone: the browser is in the same network as the canaries."""
    code, _, err = await _run("tests.browser.small_internet", "true")
    if code and ("PermissionError" in err or "FileNotFoundError" in err):
        pytest.skip(f"needs root and iproute2: {err.splitlines()[-1]}")
    code, out, err = await _run(
        "tests.browser.small_internet", sys.executable, "-m", "tests.browser.egress_page", program
    )
    assert code == 0, err
    told = json.loads(out)
    assert told["leads_to"]
    assert told["arrivals"] == []


async def test_no_certificate_is_fetched_from_where_another_says(program: str, tmp_path: Path) -> None:
    async with Canaries("127.0.0.9") as canaries:
        authority = certify(tmp_path, issuer="somebody", issuer_url=f"http://{canaries.place}/issuer")
        authority.context.set_alpn_protocols(["http/1.1"])
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=authority.context)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        async with browsing(url):
            await arrived(canaries, Arrival("http", "issuer"))
        canaries.arrivals.clear()
        for own_network in (True, False):
            pool = BrowserPool(AGENT, program, at_once=1, own_network=own_network)
            fetcher = BrowserFetcher(pool, AGENT, OneAddress())
            assert (await failed(fetcher, url)).kind == "certificate"
            await pool.aclose()
            await fetcher.aclose()
        assert canaries.arrivals == []
        server.close()
