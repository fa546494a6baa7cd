"""Serves the practice site until it is stopped: `python -m shoal.practice --port 8000`.

When it is ready, it prints one JSON line with its port, its hosts and the URL of its control endpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from shoal.practice.hostile import Hostile, HostileScripts
from shoal.practice.listener import Conditions
from shoal.practice.polite_site import PoliteSite
from shoal.practice.process import PracticeSite
from shoal.practice.request_log import DISCARD, RequestLog
from shoal.practice.server import Server
from shoal.practice.shop import Shop
from shoal.practice.wiki import Wiki


def main() -> int:
    options = _parser().parse_args()
    try:
        asyncio.run(_serve(_site(options), options))
    except OSError as error:
        print(f"cannot serve the practice site: {error}", file=sys.stderr)
        return 5
    return 0


def _site(options: argparse.Namespace) -> PracticeSite:
    if options.asking:
        return PoliteSite()
    if options.wiki:
        return Wiki(options.seed, options.wiki)
    if options.hostile:
        return Hostile(hurried=options.hurried)
    if options.hostile_scripts:
        return HostileScripts(good=options.hostile_scripts, every=options.every)
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
    parser.add_argument("--port", type=int, default=0, help="port; 0, the default, chooses a free one")
    parser.add_argument("--seed", type=int, default=shop.seed, help="the same seed gives the same shop")
    parser.add_argument("--hosts", type=_count, default=shop.hosts, help="number of addresses, from 127.0.0.1 on")
    parser.add_argument("--categories", type=_count, default=shop.categories, help="categories per host")
    parser.add_argument("--products", type=_count, default=shop.products, help="products per host")
    parser.add_argument("--per-page", type=_count, default=shop.per_page, help="products on a category's page")
    parser.add_argument("--untroubled", action="store_true", help="leave out pages that fail, moved or are forbidden")
    parser.add_argument(
        "--hostile", action="store_true", help="serve a site with every known fault instead of the shop"
    )
    parser.add_argument(
        "--wiki", type=_count, metavar="ARTICLES", help="serve a wiki: this many articles, and many views of each"
    )
    parser.add_argument("--hurried", action="store_true", help="with --hostile: leave out pages that only time out")
    parser.add_argument(
        "--hostile-scripts",
        type=_count,
        metavar="GOOD",
        help="serve this many good pages made by script, and pages whose scripts attack a browser",
    )
    parser.add_argument(
        "--every", type=_count, default=HostileScripts.every, help="with --hostile-scripts: good pages per attack"
    )
    parser.add_argument(
        "--asking",
        action="store_true",
        help="serve hosts that ask crawlers to wait or stay away",
    )
    parser.add_argument("--latency", type=float, default=0, metavar="MS", help="delay before each response")
    parser.add_argument("--latency-jitter", type=float, default=0, metavar="MS", help="random extra delay, up to this")
    parser.add_argument("--log", type=Path, default=DISCARD, metavar="FILE", help="log file, one JSON line per request")
    parser.add_argument("--with-parent", action="store_true", help="stop when standard input closes")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


async def _serve(site: PracticeSite, options: argparse.Namespace) -> None:
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
