"""`shoal demo`: serves the practice site on loopback, crawls it, and measures politeness from the site's log."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryDirectory

import click

from shoal.cli.run_job import run_job
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import table
from shoal.jobs.job_id import new_job_id
from shoal.jobs.run_summary import EXIT_INTERRUPTED
from shoal.model import Input, JobSpec, Politeness
from shoal.practice import LogEntry, Running, Shop, read_log, running
from shoal.store.jobs import create_job
from shoal.urls import Exclusions, Params, target

SHOPS = 3
RATE = 10.0
PER_HOST = 2
RETRIES = 2
"""The shop has a page that always fails; the default four retries would take 15 s."""
CONCURRENCY = 16
HEADER = ("requests", "most in a second", "most at once", "host")


@dataclass(frozen=True, slots=True)
class Visits:
    """What one host recorded of the crawl."""

    host: str
    requests: int
    most_in_a_second: int
    """In any sliding window of one second."""
    most_at_once: int


@click.command(cls=Command)
def demo(session: Session) -> None:
    """Serve a practice site on loopback, crawl it and show the result. Needs no network.

    The site is a small chain of shops with common problems: dead links, server errors, redirect loops, and pages that
    robots.txt disallows. The job stays in the home; you can inspect it like any other.

    \b
    shoal demo
    shoal demo --home /tmp/demo
    """
    job_id = new_job_id()
    with TemporaryDirectory(prefix="shoal-demo-") as folder:
        log = Path(folder, "visits.jsonl")
        with running(Shop(hosts=_bindable_hosts()), log=log) as site:
            code = _crawl(session, site, job_id)
        visits = [_visits(read_log(log), address, site.port) for address in site.addresses]
    if code == EXIT_INTERRUPTED:
        session.say("the practice site has stopped too, so the job cannot be resumed; start again: shoal demo")
    else:
        _show_politeness(session, visits)
        _show_next_commands(session, job_id, site.url("/pages/reviews.html"))
    raise click.exceptions.Exit(code)


def _bindable_hosts() -> int:
    """Linux binds all of 127.0.0.0/8; other systems often only 127.0.0.1."""
    try:
        socket.create_server(("127.0.0.2", 0)).close()
    except OSError:
        return 1
    return SHOPS


def _crawl(session: Session, site: Running, job_id: str) -> int:
    spec = JobSpec("shops", politeness=Politeness(RATE, PER_HOST), retries=RETRIES, allow_private=True)
    if not session.quiet and not session.json:
        session.say(f"serving a practice site of shops on loopback, the first at {site.url()}")
        session.say(f"job {job_id}: crawling it into {session.settings.home}")
    with session.open_home() as home, home.lock_of(job_id).held():
        home.check()
        create_job(home.store, job_id, lambda: spec, _inputs(site), time.time())
        return run_job(session, home, job_id, CONCURRENCY, Exclusions(()))


def _inputs(site: Running) -> list[Input]:
    urls = [site.url(host=address) for address in site.addresses]
    return [Input(line, url, target(url, Params(), "host")) for line, url in enumerate(urls, 1)]


def _visits(log: list[LogEntry], address: str, port: int) -> Visits:
    entries = [entry for entry in log if entry.host == address]
    starts = [entry.t_start for entry in entries if entry.path != "/robots.txt"]
    at_once = max((entry.in_flight for entry in entries), default=0)
    return Visits(f"{address}:{port}", len(entries), _most_in_a_second(starts), at_once)


def _most_in_a_second(starts: Iterable[float]) -> int:
    most = 0
    window: deque[float] = deque()
    for start in starts:
        window.append(start)
        while start - window[0] >= 1.0:
            window.popleft()
        most = max(most, len(window))
    return most


def _show_politeness(session: Session, visits: list[Visits]) -> None:
    if session.json:
        for seen in visits:
            session.data({"type": "politeness", "rate": RATE, "per_host": PER_HOST, **asdict(seen)})
        return
    session.show(f"politeness, from the shops' log (limits: {RATE:g} a second per host, {PER_HOST} at once):")
    rows = [(str(v.requests), str(v.most_in_a_second), str(v.most_at_once), v.host) for v in visits]
    for line in table(rows, HEADER, get_terminal_size().columns - 2, frozenset({0, 1, 2})):
        session.show(f"  {line}")


def _show_next_commands(session: Session, job_id: str, url: str) -> None:
    if session.json or session.quiet:
        return
    session.show("try next:")
    for command in (f"job {job_id}", f"dead {job_id}", f"explain {job_id} {url}", f"export {job_id} -o shops.csv"):
        session.show(f"  {session.command(command)}")
    session.show(f"  {session.command('crawl https://example.com --max-pages 50 -o pages.jsonl')}")
