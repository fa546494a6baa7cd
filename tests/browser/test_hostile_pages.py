"""Pages that attack the browser cost themselves only: the pages beside them are delivered, and nothing stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.exchange import Failure
from shoal.practice import HostileScripts, Server
from shoal.practice.hostile.browser_egress import EGRESS_PAGE, Canaries, EgressSite
from tests.browser.rendering import AGENT, LONG_S, processes_of_session, render, rendered, text_of
from tests.fetch.site import until

pytestmark = pytest.mark.asyncio(loop_scope="module")
OUTCOMES: dict[str, set[str | None]] = {
    "crash": {"render"},
    "buffers": {None, "render"},
    "dialogs": {"render"},
    "frames-in-frames": {"render"},
    "rejections": {None, "render"},
    "leave-timer": {None, "render"},
    "reload-loop": {None},
    "downloads": {None},
    "fake-queries": {None},
    "spin": {"unfinished"},
}
"""Name of an attack -> the possible kinds of its failure; None: a page. Some depend on who is quicker."""
DEADLINES_S = (3.0, 12.0, LONG_S)
"""A page that spins takes all its time. On a busy machine it may not even have begun when a short one is over."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Server]:
    scripts = HostileScripts()
    async with Server(scripts.answer, scripts.addresses) as server:
        yield server


async def test_attacks_cost_their_own_page_only(fetcher: BrowserFetcher, site: Server) -> None:
    async def outcome(name: str) -> str | None:
        kind: str | None = "timeout"
        for deadline_s in DEADLINES_S if name == "spin" else DEADLINES_S[-1:]:
            answer = await render(fetcher, site.url(f"/attack/{name}.html"), deadline_s=deadline_s)
            kind = answer.kind if isinstance(answer, Failure) else "unfinished" if answer.fault else None
            if kind != "timeout":
                break
        return kind

    good = [rendered(fetcher, site.url(f"/good/{number}.html")) for number in range(len(OUTCOMES))]
    answers, outcomes = await asyncio.gather(asyncio.gather(*good), asyncio.gather(*map(outcome, OUTCOMES)))
    found = dict(zip(OUTCOMES, outcomes, strict=True))
    assert {name: kind for name, kind in found.items() if kind not in OUTCOMES[name]} == {}
    for number, answer in enumerate(answers):
        assert f"Good page {number}" in text_of(answer)
    contexts = await (await fetcher.pool.start()).browser.call("Target.getBrowserContexts")
    assert contexts["browserContextIds"] == []


class OneAddress(AddressGuard):
    """Allows the site that tries the ways out, and nothing else."""

    def _allows(self, ip: str) -> bool:
        return ip == "127.0.0.1"


@pytest.mark.parametrize("own_network", [True, False])
async def test_a_page_that_tries_every_way_out_reaches_nothing(program: str, own_network: bool) -> None:
    pool = BrowserPool(AGENT, program, at_once=1, own_network=own_network)
    fetcher = BrowserFetcher(pool, AGENT, OneAddress())
    async with Canaries("127.0.0.9") as canaries:
        site = EgressSite(canaries.place, canaries.udp_place)
        async with Server(site.answer, site.addresses) as server:
            # Until the page itself wants to leave, which is its last way.
            answer = await rendered(fetcher, server.url(EGRESS_PAGE), [{"wait_time": 5}])
            process = await pool.start()
            await pool.aclose()
        assert answer.rendered is not None and answer.rendered.leads_to.startswith(f"http://{canaries.place}/")
        assert canaries.arrivals == []
    await until(lambda: not processes_of_session(process.pid), LONG_S)
    await fetcher.aclose()
