"""A worker of your own: a loop that leases from Shoal's frontier, fetches, and completes.

    python own_worker.py http://127.0.0.1:8000/ redis://127.0.0.1:6379/0

Start it as often as you like: however many run, a host sees one rate, and no page is fetched twice. Without a Redis
the frontier is a file, for one process. It does not ask for robots.txt: that is up to whoever fetches.
"""

import asyncio
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from shoal import Page
from shoal.frontier.contract import Caller, Frontier, Terms
from shoal.frontier.redis import RedisFrontier
from shoal.frontier.sqlite import SqliteFrontier
from shoal.model import Completion, Landing, Lease, Offer, Outcome, Trail
from shoal.urls import Params, origin_of, target

JOB = "mine"


def fetch(url: str) -> tuple[int | None, bytes]:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, b""
    except OSError:
        return None, b""


async def work(frontier: Frontier, lease: Lease) -> None:
    caller = Caller(f"lease-{lease.token}")
    url = lease.target.url
    await asyncio.sleep(lease.wait_s)  # until the host's clock allows it
    began = time.monotonic()
    status, body = await asyncio.to_thread(fetch, url)
    await frontier.landed(caller.next(), [Landing(lease.token, time.monotonic() - began, status)])
    found = [request.url for request in Page(url, body, html=body).follow("a[href]")]
    print(status, url)  # keep what you found before the links are offered, and offer them before the lease ends
    links = [target(link, Params(), "host") for link in found if link.startswith(origin_of(url))]
    await frontier.offer(caller.next(), [Offer(JOB, links, Trail(depth=lease.trail.depth + 1))])
    outcome = Outcome.DEAD if status is None else Outcome.DONE
    await frontier.complete(caller.next(), [Completion(lease.token, outcome, bytes=len(body))])


async def main(start: str, redis_url: str | None = None) -> None:
    frontier = await RedisFrontier.open(redis_url) if redis_url else SqliteFrontier(Path("own_worker.db"))
    caller = Caller(f"own-worker-{time.time()}")
    await frontier.open_job(JOB, Terms(gap_s=0.05, per_host=4))
    await frontier.offer(caller.next(), [Offer(JOB, [target(start, Params(), "host")])])
    while await frontier.idle_reason(JOB) is None:
        leases = await frontier.lease(caller.next(), 16)
        await asyncio.gather(*(work(frontier, lease) for lease in leases))
        if not leases:
            await frontier.wait(1.0)
    print(await frontier.figures(JOB), file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
