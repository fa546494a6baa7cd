"""`shoal top`: jobs, lanes, hosts and processes live on one screen, with keys to control them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from shutil import get_terminal_size

import click

from shoal.cli.backends import Jobs, ListedJob, Record
from shoal.cli.backends.workers import list_workers
from shoal.cli.commands.jobs import job_lines
from shoal.cli.commands.workers import HEADER as WORKER_HEADER
from shoal.cli.commands.workers import NUMBERS as WORKER_NUMBERS
from shoal.cli.commands.workers import worker_row
from shoal.cli.fleet_lines import host_lines, lane_lines
from shoal.cli.humanize import count, plural
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, table
from shoal.errors import ShoalError, UsageError
from shoal.model import ENDED, JobState

EVERY_S = 1.0
JOBS_READ = 100
HEADER = ("", "id", "state", "pages", "p/s", "queued", "dead", "name")
NUMBERS = frozenset({3, 4, 5, 6})
SORTS = ("newest", "rate", "pages", "queued")
KEYS = "q quit  ↑↓ select  Enter open  p pause or resume  s sort"
BACK = "any key: back"
HOSTS_EVERY_S = 5.0
HOSTS_SHOWN = 5
_UP, _DOWN, _OPEN = ("\x1b[A", "k"), ("\x1b[B", "j"), ("\r", "\n", "o")


@click.command(cls=Command)
def top(session: Session) -> None:
    """Show jobs, lanes, hosts that are held back, and processes live: state, rate, queue and what each process does.

    Keys: q quits, the arrows select a job, Enter opens it, p pauses or resumes it, s changes the order. Without a
    terminal it prints the screen once.

    \b
    shoal top
    shoal top --api https://fleet.example
    """
    with session.open_jobs() as backend:
        view = TopView(session, backend)
        if not session.live or not sys.stdin.isatty():
            view.read()
            if any(job.state is JobState.RUNNING for job in view.jobs):
                # Rates are those between two looks.
                time.sleep(EVERY_S)
                view.read()
            for line in view.tables(get_terminal_size().columns, JOBS_READ):
                session.show(line)
            return
        with _raw_screen() as key, suppress(KeyboardInterrupt):
            view.run(key)


@dataclass(slots=True)
class TopView:
    session: Session
    backend: Jobs
    jobs: list[ListedJob] = field(default_factory=list)
    workers: list[Record] = field(default_factory=list)
    rates: dict[str, float] = field(default_factory=dict)
    """By job: pages a second since the last look."""
    hosts: list[Record] = field(default_factory=list)
    opened: list[str] | None = None
    """The lines about the job that is open."""
    selected: int = 0
    sort: str = SORTS[0]
    note: str = ""
    _seen: dict[str, tuple[float, int]] = field(default_factory=dict)
    _hosts_at: float = -HOSTS_EVERY_S

    def run(self, key: _KeyReader) -> None:
        while True:
            with _noted(self):
                self.read()
            size = get_terminal_size()
            lines = self.screen(size.columns - 1, size.lines - 1)
            sys.stderr.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
            sys.stderr.flush()
            pressed = key.within(EVERY_S)
            if pressed in ("q", "\x03", "\x1b"):
                return
            with _noted(self):
                self.press(pressed)

    def read(self) -> None:
        self.jobs = self.backend.newest(JOBS_READ)
        now = time.monotonic()
        for job in self.jobs:
            then, pages = self._seen.get(job.id, (now, job.figures.pages))
            self.rates[job.id] = (job.figures.pages - pages) / (now - then) if now > then else 0.0
            self._seen[job.id] = now, job.figures.pages
        with suppress(UsageError):
            # A home has no processes of its own.
            self.workers = list_workers(self.session)
        if now - self._hosts_at >= HOSTS_EVERY_S:
            self._hosts_at = now
            self.hosts = self.backend.hosts(robots=False)

    def press(self, key: str) -> None:
        if self.opened is not None and key:
            self.opened = None
        elif key in _OPEN and (job := self._selected_job()):
            self.opened = job_lines(self.session, self.backend.find(job.id))
        elif key in _UP:
            self.selected -= 1
        elif key in _DOWN:
            self.selected += 1
        elif key == "s":
            self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        elif key == "p" and (job := self._selected_job()):
            found = self.backend.find(job.id)
            is_paused = job.state in (JobState.PAUSED, JobState.INTERRUPTED)
            self.note = (found.resume() if is_paused else found.pause()) or f"continue it with `shoal resume {job.id}`"

    def screen(self, width: int, height: int) -> list[str]:
        """The lines that fit, the most important first."""
        if self.opened is not None:
            return [*(line[:width] for line in self.opened[: height - 1]), BACK]
        return [*self.tables(width, height - 1), (safe(self.note) or KEYS)[:width]]

    def tables(self, width: int, height: int) -> list[str]:
        at_work = sum(job.state not in ENDED for job in self.jobs)
        rate = sum(self.rates.values())
        crawling = [worker for worker in self.workers if worker["role"] == "child"]
        fleet = f"{plural(len(crawling), 'worker')}, " if self.workers else ""
        heading = f"shoal top: {at_work} unfinished, {fleet}{rate:.1f} pages/s, order: {self.sort}"
        below = [host_lines(self.hosts, HOSTS_SHOWN, width)]
        if self.workers:
            processes = table(map(worker_row, self.workers), WORKER_HEADER, width, WORKER_NUMBERS)
            below = [lane_lines(crawling, self.jobs, width), *below, processes[: max(0, height // 3)]]
        parts = [line for part in below if part for line in ("", *part)]
        room = max(3, height - len(parts) - 2)
        shown = self._sorted()[:room]
        self.selected = max(0, min(self.selected, len(shown) - 1))
        rows = [self._row(place, job) for place, job in enumerate(shown)]
        jobs = table(rows, HEADER, width, NUMBERS) if rows else ["no job yet"]
        return [line[:width] for line in (heading, *jobs, *parts)]

    def _row(self, place: int, job: ListedJob) -> tuple[str, ...]:
        figures = job.figures
        queued = count(figures.queued + figures.leased) if figures.pending_known else "?"
        mark = ">" if place == self.selected else ""
        numbers = count(figures.pages), f"{self.rates.get(job.id, 0.0):.1f}", queued, count(figures.dead)
        return mark, job.id, job.state.value, *numbers, safe(job.name)

    def _sorted(self) -> list[ListedJob]:
        orders = {
            "rate": lambda job: -self.rates.get(job.id, 0.0),
            "pages": lambda job: -job.figures.pages,
            "queued": lambda job: -job.figures.queued,
        }
        order = orders.get(self.sort)
        return sorted(self.jobs, key=order) if order else self.jobs

    def _selected_job(self) -> ListedJob | None:
        shown = self._sorted()
        return shown[self.selected] if self.selected < len(shown) else None


@contextmanager
def _noted(view: TopView) -> Iterator[None]:
    """A server that is away, or a job that cannot be paused, is shown below the tables."""
    try:
        yield
    except ShoalError as error:
        view.note = str(error)


class _KeyReader:
    def within(self, seconds: float) -> str:
        """The key pressed; empty if there was none."""
        import os
        import select

        ready, _, _ = select.select([sys.stdin.fileno()], [], [], seconds)
        return os.read(sys.stdin.fileno(), 16).decode(errors="replace") if ready else ""


@contextmanager
def _raw_screen() -> Iterator[_KeyReader]:
    """Keys come at once and are not echoed; the terminal is as before at the end."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        # The alternate screen: what stood on the terminal comes back.
        sys.stderr.write("\x1b[?1049h\x1b[?25l")
        yield _KeyReader()
    finally:
        sys.stderr.write("\x1b[?25h\x1b[?1049l")
        sys.stderr.flush()
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
