"""Serves the practice site until it is told to stop: `python -m shoal.practice --port 8000`.

When it is ready it prints one JSON line with its port, its hosts and the address of its control endpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from shoal.practice.asking import Asking
from shoal.practice.door import Conditions
from shoal.practice.hostile import Hostile
from shoal.practice.log import DISCARD, RequestLog
from shoal.practice.server import Server
from shoal.practice.site import Shop


def main() -> int:
    options = _parser().parse_args()
    try:
        asyncio.run(_serve(_site(options), options))
    except OSError as error:
        print(f"cannot serve the practice site: {error}", file=sys.stderr)
        return 5
    return 0


def _site(options: argparse.Namespace) -> Shop | Hostile | Asking:
    if options.asking:
        return Asking()
    if options.hostile:
        return Hostile(hurried=options.hurried)
    return Shop(
        seed=options.seed,
        hosts=options.hosts,
        categories=options.categories,
        products=options.products,
        per_page=options.per_page,
        troubled=not options.untroubled,
    )


def _parser() -> argparse.ArgumentParser:
    shop = Shop()
    parser = argparse.ArgumentParser("python -m shoal.practice", description="Serve the practice site on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    parser.add_argument("--seed", type=int, default=shop.seed, help="the same seed gives the same shop")
    parser.add_argument("--hosts", type=_count, default=shop.hosts, help="addresses from 127.0.0.1 on")
    parser.add_argument("--categories", type=_count, default=shop.categories, help="per host")
    parser.add_argument("--products", type=_count, default=shop.products, help="per host")
    parser.add_argument("--per-page", type=_count, default=shop.per_page, help="products on a category's page")
    parser.add_argument("--untroubled", action="store_true", help="leave out what fails, moves or is forbidden")
    parser.add_argument("--hostile", action="store_true", help="in place of the shop, all that a site can do wrong")
    parser.add_argument("--hurried", action="store_true", help="of the hostile site, leave out silence and drips")
    parser.add_argument("--asking", action="store_true", help="in place of the shop, all that a site may ask for")
    parser.add_argument("--latency", type=float, default=0, metavar="MS", help="before each answer")
    parser.add_argument("--latency-jitter", type=float, default=0, metavar="MS", help="at most this much more")
    parser.add_argument("--log", type=Path, default=DISCARD, metavar="FILE", help="one JSON line per request")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input closes")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


async def _serve(site: Shop | Hostile | Asking, options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if options.with_parent:
        await loop.connect_read_pipe(lambda: _Parent(stop), sys.stdin)
    conditions = Conditions(latency_ms=options.latency, jitter_ms=options.latency_jitter)
    async with Server(site.answer, site.addresses, options.port, RequestLog(options.log), conditions) as server:
        ready = {"port": server.port, "hosts": site.addresses, "control": server.control_url}
        print(json.dumps({"url": server.url(), **ready}), flush=True)
        await stop.wait()


class _Parent(asyncio.Protocol):
    """The other end of standard input: it closes when the parent ends, however that happens."""

    def __init__(self, stop: asyncio.Event) -> None:
        self._stop = stop

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop.set()


if __name__ == "__main__":
    sys.exit(main())
