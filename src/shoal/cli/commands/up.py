"""`shoal up`: runs a fleet on this machine with one command, and shows its status."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import click

from shoal.browser.find_browser import find_browser
from shoal.cli.commands.worker import concurrency_option, lanes_option, served_lanes
from shoal.cli.first_token import show_first_token
from shoal.cli.humanize import count, duration, plural, size
from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, shortened
from shoal.control.first_token import FILE, make_first_token
from shoal.control.login_links import login_link
from shoal.errors import Unavailable, UsageError
from shoal.fleet.fleet_status import FleetStatus
from shoal.fleet.roster import RosterEntry
from shoal.fleet.supervisor import SupervisedProcess
from shoal.fleet.up import LocalFleet, LocalFleetOptions
from shoal.model import Lane

API_PORT = 8000
LIVE_EVERY_S = 0.5
PLAIN_EVERY_S = 30.0
JSON_EVERY_S = 5.0


@click.command(cls=Command)
@click.option(
    "--workers",
    type=Whole(0),
    default=os.cpu_count() or 1,
    show_default="one per core",
    metavar="N",
    help="Worker processes, which crawl; 0: none.",
)
@click.option(
    "--browsers",
    type=Whole(0),
    default=0,
    metavar="N",
    help="Further worker processes that have a browser each, and render pages too.",
)
@lanes_option
@concurrency_option
@click.option(
    "--port",
    type=Whole(1, 65535),
    metavar="P",
    help=f"Port of the API, on loopback. [default: {API_PORT}, or a free one if that is taken]",
)
def up(session: Session, workers: int, browsers: int, lanes: str, concurrency: int | None, port: int | None) -> None:
    """Run a whole fleet on this machine until Ctrl-C: Redis (unless SHOAL_REDIS_URL is set), tend, workers, the API.

    The first start creates an admin token for the API in the file admin-token of the home; a terminal shows it once.
    Commands with the same home find the fleet by themselves. A process that dies or hangs is restarted. Ctrl-C finishes
    or requeues the requests in flight, then stops; a second Ctrl-C stops at once, and still loses nothing.

    \b
    shoal up
    shoal up --workers 4 --lanes express,batch
    shoal submit https://example.com        in another terminal
    """
    if browsers:
        # Otherwise the worker would find the error itself, and be restarted again and again.
        find_browser(session.settings.browser)
    wanted = LocalFleetOptions(
        workers, browsers, served_lanes(lanes), concurrency, port or _free_port(), session.verbose
    )
    session.run(_up(session, wanted))


async def _up(session: Session, wanted: LocalFleetOptions) -> None:
    view = View(session)
    fleet = LocalFleet(session.settings, wanted, view.say)
    _show_first_token(session, fleet)
    stopping, at_once = asyncio.Event(), asyncio.Event()

    def on_signal() -> None:
        (at_once if stopping.is_set() else stopping).set()

    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, on_signal)
    showing = asyncio.create_task(view.run(fleet))
    try:
        await fleet.run(stopping)
    finally:
        showing.cancel()
        view.clear()
        view.say("stopping: finishing or requeueing requests in flight; Ctrl-C again to stop at once")
        await fleet.end(at_once)
        view.say("all processes have stopped")


def _free_port() -> int:
    for port in (API_PORT, 0):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)) as probe:
            found: int = probe.getsockname()[1]
            return found
    raise Unavailable("no port of 127.0.0.1 is free for the API: choose one with --port")


def _show_first_token(session: Session, fleet: LocalFleet) -> None:
    """Called before the API starts, which would write it to its log."""
    with suppress(Unavailable):
        token = make_first_token(fleet.fleet.store, fleet.settings)
        if token:
            show_first_token(session, token, fleet.settings.home / FILE)


class View:
    """The fleet's status: one live block on a terminal, a line every 30 s elsewhere, objects with `--json`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._drawn = 0

    def say(self, text: str) -> None:
        self.clear()
        if self._session.json:
            self._session.data({"type": "event", "text": text})
        else:
            self._session.say(f"{time.strftime('%H:%M:%S')} {safe(text)}")

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write(f"\x1b[{self._drawn}A\x1b[J")
            sys.stderr.flush()
            self._drawn = 0

    async def run(self, fleet: LocalFleet) -> None:
        await fleet.started.wait()
        self.say(f"API: {fleet.api_url}/api/v1, documentation: {fleet.api_url}/docs")
        self.say(f"dashboard, logs you in once: {await self._login_link(fleet)}")
        self.say(f"the fleet is up; submit a job: {self._session.command('submit', 'URL')}")
        while True:
            self._show(fleet)
            await asyncio.sleep(self._every_s)

    async def _login_link(self, fleet: LocalFleet) -> str:
        try:
            return await asyncio.to_thread(login_link, fleet.settings, fleet.api_url)
        except (Unavailable, UsageError):
            # Without a database or a token: the page itself says how to log in.
            return f"{fleet.api_url}/login"

    @property
    def _every_s(self) -> float:
        if self._session.json:
            return JSON_EVERY_S
        return LIVE_EVERY_S if self._session.live else PLAIN_EVERY_S

    def _show(self, fleet: LocalFleet) -> None:
        if self._session.json:
            self._session.data(_as_json(fleet))
        elif self._session.live:
            self.clear()
            width = min(80, shutil.get_terminal_size().columns) - 1
            lines = [shortened(line, width) for line in block(fleet)]
            sys.stderr.write("".join(f"{line}\n" for line in lines))
            sys.stderr.flush()
            self._drawn = len(lines)
        elif not self._session.quiet:
            self._session.say(f"{time.strftime('%H:%M:%S')} {plain(fleet.seen, fleet.parts)}")


def block(fleet: LocalFleet) -> list[str]:
    seen, settings = fleet.seen, fleet.settings
    up_for = duration(int(time.monotonic() - fleet.began_at))
    redis = seen.redis_fault or f"{settings.shown('redis_url')}, {size(seen.redis_bytes)}"
    jobs = f"{plural(seen.jobs, 'job')} to do"
    lines = [f"shoal up for {up_for}, {settings.home}, logs in logs/"]
    lines.append(_row("redis", _state(fleet, "redis"), redis))
    lines.append(_row("database", "", seen.database_fault or f"{settings.shown('database_url')}, {jobs}"))
    lines.append(_row("tend", _state(fleet, "tend"), ""))
    lines.append(_row("api", _state(fleet, "api"), fleet.api_url))
    workers = [part.name for part in fleet.parts if part.name in ("worker", "browsers")]
    for place, name in enumerate(workers):
        lines.append(_row(name, _state(fleet, name), "" if place else _sums(seen.at_work)))
    if workers:
        lines += [_process(at_work) for at_work in seen.at_work]
    return lines


def plain(seen: FleetStatus, parts: Sequence[SupervisedProcess]) -> str:
    down = [f"{part.name} is down" for part in parts if part.pid is None]
    servers = [fault for fault in (seen.redis_fault, seen.database_fault) if fault]
    # What the processes wait for, such as disk space, unless it is one of these servers.
    waits = [] if servers else [child.waiting_for for child in seen.at_work if child.waiting_for]
    browsers = [child.browser_fault for child in seen.at_work if child.browser_fault]
    faults = [*servers, *dict.fromkeys([*waits, *browsers])]
    return "; ".join([_sums(seen.at_work), f"{plural(seen.jobs, 'job')} to do", *down, *map(safe, faults)])


def _row(name: str, state: str, about: str) -> str:
    return f"{name:<8}  {state:<13}  {safe(about)}".rstrip()


def _state(fleet: LocalFleet, name: str) -> str:
    for part in fleet.parts:
        if part.name == name:
            return f"process {part.pid}" if part.pid else "down"
    return "external"


def _sums(at_work: list[RosterEntry]) -> str:
    per_s = sum(child.per_s or 0.0 for child in at_work)
    used_bytes = sum(child.memory_bytes for child in at_work)
    served = [lane for lane in Lane if any(lane in child.lanes for child in at_work)]
    lanes = ["all lanes" if len(served) == len(Lane) else " ".join(served)] if served else []
    return ", ".join([f"{len(at_work)} at work", *lanes, f"{per_s:.1f} requests/s", size(used_bytes)])


def _process(entry: RosterEntry) -> str:
    doing = f"{entry.lane}, {count(entry.in_flight)} in flight" if entry.lane else "idle"
    browser = ", with a browser" if entry.browser_pages else ", its browser does not start" * bool(entry.browser_fault)
    rate = "–" if entry.per_s is None else f"{entry.per_s:.1f}"
    about = entry.waiting_for or f"{rate} requests/s, {size(entry.memory_bytes)}{browser}, {doing}"
    return _row("", f"process {entry.pid}", about)


def _as_json(fleet: LocalFleet) -> dict[str, Any]:
    seen = fleet.seen
    children = [asdict(child) for child in seen.at_work]
    servers = {"redis_fault": seen.redis_fault, "database_fault": seen.database_fault, "jobs": seen.jobs}
    parts = {part.name: part.pid for part in fleet.parts}
    return {"type": "fleet", **servers, "processes": parts, "at_work": children}
