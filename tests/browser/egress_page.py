"""`python -m tests.browser.egress_page PROGRAM`, in a small internet: opens the page that tries every way out.

Prints as JSON where the page wanted to go in the end, and what reached the canaries, whose address no guard allows.
Then a browser without a guard opens it, to see that there they are reached.
"""

from __future__ import annotations

import asyncio
import json
import sys

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.fetch.address_guard import AddressGuard
from shoal.practice import Server
from shoal.practice.hostile.browser_egress import EGRESS_PAGE, Arrival, Canaries, EgressSite
from shoal.practice.hostile.browser_egress.egress_techniques import LAST
from tests.browser.rendering import AGENT, rendered
from tests.browser.small_internet import PUBLIC, REFUSED
from tests.practice.bare_browser import browsing
from tests.practice.test_browser_egress import arrived


async def main(program: str) -> None:
    pool = BrowserPool(AGENT, program, at_once=1, own_network=False)
    fetcher = BrowserFetcher(pool, AGENT, AddressGuard())
    async with Canaries(REFUSED, dns_port=53) as canaries:
        site = EgressSite(canaries.place, canaries.udp_place)
        async with Server(site.answer, [PUBLIC]) as server:
            # Until the page itself wants to leave, which is its last way.
            answer = await rendered(fetcher, server.url(EGRESS_PAGE), [{"wait_time": 5}])
            arrivals = list(canaries.arrivals)
            async with browsing(server.url(EGRESS_PAGE)):
                await arrived(canaries, Arrival("http", LAST), Arrival("dns", "stun-name"), Arrival("stun", ""))
        await pool.aclose()
        await fetcher.aclose()
    assert answer.rendered is not None
    print(json.dumps({"leads_to": answer.rendered.leads_to, "arrivals": arrivals}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
