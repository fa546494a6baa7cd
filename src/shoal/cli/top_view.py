"""The screen of `shoal top`: what it shows, and what its keys do."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shoal.cli.backends import Jobs, ListedJob, Record
from shoal.cli.backends.workers import list_workers
from shoal.cli.commands.jobs import job_lines
from shoal.cli.commands.workers import HEADER as WORKER_HEADER
from shoal.cli.commands.workers import NUMBERS as WORKER_NUMBERS
from shoal.cli.commands.workers import worker_row
from shoal.cli.fleet_lines import host_lines, lane_lines
from shoal.cli.humanize import count, plural
from shoal.cli.live_calls import LiveCalls
from shoal.cli.session import Session
from shoal.cli.terminal_text import safe, table, wrapped
from shoal.errors import NoAnswer, ShoalError, UsageError
from shoal.model import ENDED, JobState
from shoal.telemetry.recent_rate import RecentRate

JOBS_READ = 100
HEADER = ("", "id", "state", "pages", "p/s", "queued", "dead", "name")
NUMBERS = frozenset({3, 4, 5, 6})
SORTS = ("newest", "rate", "pages", "queued")
KEYS = "q quit  ↑↓ select  Enter open  p pause or resume  s sort"
BACK = "any key: back"
LOOK_EVERY_S = 1.0
HOSTS_EVERY_S = 5.0
HOSTS_SHOWN = 5
NOTE_S = 6.0
"""What a key did is shown for so long; then the keys are listed again."""
T = TypeVar("T")
_UP, _DOWN, _OPEN = ("\x1b[A", "k"), ("\x1b[B", "j"), ("\r", "\n", "o")


@dataclass(frozen=True, slots=True)
class Look:
    jobs: list[ListedJob]
    workers: list[Record]
    hosts: list[Record] | None
    """None: not asked for."""


@dataclass(slots=True)
class Asked:
    """A call whose answer is awaited."""

    answer: Future[Any]
    show: Callable[[Any], None]
    key: str
    """The key that asked for it; empty: none did."""


@dataclass(slots=True)
class TopView:
    session: Session
    backend: Jobs
    clock: Callable[[], float] = time.monotonic
    jobs: list[ListedJob] = field(default_factory=list)
    workers: list[Record] = field(default_factory=list)
    rates: dict[str, float] = field(default_factory=dict)
    """By job: pages a second, over the last looks."""
    hosts: list[Record] = field(default_factory=list)
    opened: list[str] | None = None
    """The lines about the job that is open."""
    selected: str | None = None
    """The id of a job: others may come and change places while a person looks for the key."""
    sort: str = SORTS[0]
    _is_read: bool = False
    _note: tuple[str, float] = ("", 0.0)
    _calls: LiveCalls = field(init=False)
    _asked: list[Asked] = field(default_factory=list)
    _looked_at: float = -LOOK_EVERY_S
    _recent: dict[str, RecentRate] = field(default_factory=dict)
    _hosts_at: float = -HOSTS_EVERY_S

    def __post_init__(self) -> None:
        self._calls = LiveCalls(self.session, self.clock)

    def read(self, notice: Callable[[str], None]) -> None:
        """Waits for the answer; `notice` gets what to say if none comes."""
        self._show(self._calls.answered(self._look, notice))

    def refresh(self) -> None:
        """Shows what was answered, and asks again when it is time. A fault is shown below the tables."""
        self._take_answers()
        if not self._asked and self.clock() - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = self.clock()
            self._ask(self._look, self._show)

    @property
    def is_waiting(self) -> bool:
        """For an answer."""
        return bool(self._asked)

    def _ask(self, call: Callable[[], T], show: Callable[[T], None], key: str = "") -> None:
        if key and (silence := self._calls.silence):
            self._say(f"{key} did nothing: {silence}")
            return
        self._asked.append(Asked(self._calls.begin(call), show, key))
        self._take_answers()

    def _take_answers(self) -> None:
        while self._asked and self._asked[0].answer.done():
            self._take(self._asked.pop(0))
        if silence := self._calls.silence:
            # What a key asked for must not happen when nobody expects it any more.
            for asked in [one for one in self._asked if one.key and one.answer.cancel()]:
                self._asked.remove(asked)
                self._say(f"{asked.key} did nothing: {silence}")

    def _take(self, asked: Asked) -> None:
        try:
            asked.show(asked.answer.result())
        except NoAnswer as error:
            # A look is repeated; the silence is shown while it lasts.
            if asked.key:
                self._say(f"{asked.key}: {error}")
        except ShoalError as error:
            self._say(str(error))

    def _look(self) -> Look:
        jobs, workers = self.backend.newest(JOBS_READ), []
        with suppress(UsageError):
            # A home has no processes of its own.
            workers = list_workers(self.session)
        is_due = self.clock() - self._hosts_at >= HOSTS_EVERY_S
        return Look(jobs, workers, self.backend.hosts(robots=False) if is_due else None)

    def _show(self, look: Look) -> None:
        self.jobs, self.workers = look.jobs, look.workers
        self._is_read = True
        if self.selected is None and self.jobs:
            self.selected = self._sorted()[0].id
        now = self.clock()
        for job in self.jobs:
            recent = self._recent.setdefault(job.id, RecentRate(now, job.figures.pages))
            self.rates[job.id] = recent.per_s(now, job.figures.pages)
        if look.hosts is not None:
            self.hosts, self._hosts_at = look.hosts, now

    def press(self, key: str) -> None:
        if self.opened is not None and key:
            self.opened = None
        elif key in _OPEN and (job := self._selected_job()):
            id = job.id
            self._ask(lambda: job_lines(self.session, self.backend.find(id)), self._open, "Enter")
        elif key in _UP:
            self._select(-1)
        elif key in _DOWN:
            self._select(1)
        elif key == "s":
            self.sort = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)]
        elif key == "p" and (job := self._selected_job()):
            self._ask(lambda: self._pause_or_resume(job), self._say, "p")

    def _open(self, lines: list[str]) -> None:
        self.opened = lines

    def _pause_or_resume(self, job: ListedJob) -> str:
        found = self.backend.find(job.id)
        is_paused = job.state in (JobState.PAUSED, JobState.INTERRUPTED)
        return (found.resume() if is_paused else found.pause()) or f"continue it with `shoal resume {job.id}`"

    def screen(self, width: int, height: int) -> list[str]:
        """The lines that fit, the most important first."""
        if self.opened is not None:
            lines = [part[:width] for line in self.opened for part in wrapped(line, width)]
            return [*lines[: height - 1], (self._calls.silence or BACK)[:width]]
        note, until = self._note
        below = safe(note) if self.clock() < until else self._calls.silence or KEYS
        return [*self.tables(width, height - 1), below[:width]]

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
        jobs = self._job_lines(width, max(3, height - len(parts) - 2))
        return [line[:width] for line in (heading, *jobs, *parts)]

    def _job_lines(self, width: int, room: int) -> list[str]:
        """Those around the selected job, if not all fit."""
        jobs, selected = self._sorted(), self._selected_job()
        if selected is None:
            return ["no job yet" if self._is_read else "the jobs could not be read yet"]
        place = jobs.index(selected)
        first = min(max(0, place - room // 2), max(0, len(jobs) - room))
        return table([self._row(job, selected) for job in jobs[first : first + room]], HEADER, width, NUMBERS)

    def _row(self, job: ListedJob, selected: ListedJob) -> tuple[str, ...]:
        figures = job.figures
        queued = count(figures.queued + figures.leased) if figures.pending_known else "?"
        mark = ">" if job is selected else ""
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
        """The first job if the selected one is no longer among them."""
        jobs = self._sorted()
        return next((job for job in jobs if job.id == self.selected), jobs[0] if jobs else None)

    def _select(self, by: int) -> None:
        if (selected := self._selected_job()) is not None:
            jobs = self._sorted()
            self.selected = jobs[min(max(0, jobs.index(selected) + by), len(jobs) - 1)].id

    def _say(self, note: str) -> None:
        self._note = note, self.clock() + NOTE_S
