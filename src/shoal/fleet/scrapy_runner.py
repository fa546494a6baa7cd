"""Runs processes of Scrapy jobs for a worker, in a thread of its main process.

It claims processes that no other worker runs, starts them, and starts them again when they die. A worker that is killed
leaves its claims to others; its processes see that it is gone, and stop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from importlib.util import find_spec

from shoal.errors import Unavailable
from shoal.fleet.scrapy_ends import EndsToTell
from shoal.fleet.scrapy_jobs import ScrapyJob, ScrapySlots
from shoal.fleet.scrapy_logs import remove_old_logs
from shoal.fleet.scrapy_packages import remove_old_packages
from shoal.fleet.scrapy_process import TRIES, ExitCode, ScrapyProcess, ended_with, has_project
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.model import Lane, ScrapyRun
from shoal.settings import Settings
from shoal.telemetry import EventLogger

LOOK_EVERY_S = 0.5
RENEW_EVERY_S = 3.0
CLEAN_LOGS_EVERY_S = 3600.0
LINGER_S = 30.0
"""How long a process may take to end by itself once its job has ended."""
FREE_AFTER_S = 5.0
"""A process whose queue was empty is started again if its job has not ended after this time."""

log = EventLogger(__name__)


class ScrapyRunner:
    def __init__(self, settings: Settings, worker: str, lanes: list[Lane], stopping: Callable[[], bool]) -> None:
        """`worker` is the id under which it claims processes."""
        self._settings = settings
        self._worker = worker
        self._lanes = lanes
        self._stopping = stopping
        self._most = settings.scrapy_processes if find_spec("scrapy") and not settings.rendering else 0
        self._over = threading.Event()
        self._running: dict[tuple[str, int], ScrapyProcess] = {}
        self._unusable: set[str] = set()
        """Jobs of which no process could run here."""
        self._gone_since: dict[str, float] = {}
        self._ends = EndsToTell()
        self._renewed_at = 0.0
        self._clean_logs_at = time.monotonic()
        self._fault = ""
        """The error of the last round. It is logged once, although every round may meet it again."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="scrapy", daemon=True)

    def start(self) -> None:
        if self._most:
            self._thread.start()

    def end(self) -> None:
        """Waits until its processes have ended."""
        self._over.set()
        if self._most:
            self._thread.join()

    async def _run(self) -> None:
        assert self._settings.redis_url is not None
        frontier = RedisFrontier(self._settings.redis_url, PoolLimits(connections=1))
        slots = ScrapySlots(frontier.connection, self._worker)
        while not self._is_over:
            try:
                await self._round(slots)
                self._fault = ""
            except Unavailable:
                # The watchdog of the worker logs it. The processes wait by themselves.
                log.debug("scrapy_waits", "Redis is away")
            except Exception as error:
                # One job that cannot be handled must not end the thread, and with it the processes of all others.
                if self._fault != repr(error):
                    self._fault = repr(error)
                    log.exception("scrapy_fault", "a round of looking after Scrapy processes failed, and is repeated")
            await asyncio.sleep(LOOK_EVERY_S)
        await self._stop_all(slots)
        await frontier.close()

    @property
    def _is_over(self) -> bool:
        return self._over.is_set() or self._stopping()

    async def _round(self, slots: ScrapySlots) -> None:
        for place, process in list(self._running.items()):
            if (code := process.ended()) is not None:
                self._after_end(process, code)
            elif process.pid is None and process.is_taken:
                del self._running[place]
            elif process.pid is None and time.monotonic() >= process.due_at:
                self._start(process)
        await self._ends.tell(slots)
        jobs = await slots.jobs()
        # A job that was reopened after it ended is tried again.
        self._unusable &= jobs.keys()
        self._stop_ended(jobs)
        if time.monotonic() - self._renewed_at > RENEW_EVERY_S:
            self._renewed_at = time.monotonic()
            await self._renew(slots)
        await self._take(slots, jobs)
        if time.monotonic() >= self._clean_logs_at:
            self._clean_logs_at = time.monotonic() + CLEAN_LOGS_EVERY_S
            remove_old_logs(self._settings.home, {*jobs, *(job for job, _ in self._running)})
            known = (*jobs.values(), *(process.job for process in self._running.values()))
            remove_old_packages(self._settings.home, {job.run.package for job in known})

    async def _take(self, slots: ScrapySlots, jobs: dict[str, ScrapyJob]) -> None:
        """One process a round, so that the processes of a job spread over the workers."""
        if len(self._running) >= self._most:
            return
        for job in jobs.values():
            usable = job.lane in self._lanes and job.id not in self._unusable and self._has_project(job.run)
            slot = await slots.claim(job) if usable else None
            if slot is not None:
                process = self._running[job.id, slot] = ScrapyProcess(self._settings, job, slot)
                return self._start(process)

    def _has_project(self, run: ScrapyRun) -> bool:
        """The process itself fetches a project that was uploaded."""
        return self._settings.scrapy_uploads if run.package is not None else has_project(run.project)

    def _start(self, process: ScrapyProcess) -> None:
        try:
            process.start()
        except OSError as error:
            process.pause_after_crash()
            log.error("scrapy_not_started", f"{_name(process)} could not be started: {error}", job=process.job.id)
            return
        log.info("scrapy_started", f"{_name(process)} is started, pid {process.pid}", job=process.job.id)

    def _after_end(self, process: ScrapyProcess, code: int) -> None:
        """Waits for no server: the code is given only once."""
        job, slot = process.job.id, process.slot
        if process.is_taken:
            del self._running[job, slot]
            return
        match code:
            case ExitCode.FINISHED:
                del self._running[job, slot]
                self._ends.finished((job, slot), FREE_AFTER_S)
                log.info("scrapy_ended", f"{_name(process)} has finished", job=job)
            case ExitCode.CLOSED:
                del self._running[job, slot]
                self._ends.closed((job, slot))
                log.info("scrapy_ended", f"{_name(process)} has closed its spider", job=job)
            case ExitCode.INTERRUPTED:
                process.due_at, process.crashes = time.monotonic(), 0
                log.info("scrapy_restarted", f"{_name(process)} was interrupted: another one continues", job=job)
            case ExitCode.NO_SPIDER:
                self._give_up(process, f"{process.last_line}; log: {process.log}")
            case _:
                self._after_crash(process, code)

    def _after_crash(self, process: ScrapyProcess, code: int) -> None:
        pause_s = process.pause_after_crash()
        why = f"{ended_with(code)}: {process.last_line}; log: {process.log}"
        if process.crashes < TRIES:
            text = f"{_name(process)} {why}; restart in {pause_s:g} s"
            log.warning("scrapy_restarted", text, job=process.job.id)
            return
        self._give_up(process, f"its process crashed {TRIES} times: it {why}")

    def _give_up(self, process: ScrapyProcess, reason: str) -> None:
        del self._running[process.job.id, process.slot]
        self._unusable.add(process.job.id)
        log.error("scrapy_given_up", f"{_name(process)} is given up here: {reason}", job=process.job.id)
        self._ends.given_up((process.job.id, process.slot), reason)

    async def _renew(self, slots: ScrapySlots) -> None:
        for (job, slot), process in list(self._running.items()):
            if not await slots.renew(job, slot):
                # Redis was away for so long that another worker took it.
                process.is_taken = True
                process.stop()
        await self._ends.renew(slots)

    def _stop_ended(self, jobs: dict[str, ScrapyJob]) -> None:
        now = time.monotonic()
        gone = {job for job, _ in self._running if job not in jobs}
        self._gone_since = {job: self._gone_since.get(job, now) for job in gone}
        for (job, slot), process in list(self._running.items()):
            if job in gone and process.pid is None:
                del self._running[job, slot]
            elif job in gone and now - self._gone_since[job] > LINGER_S:
                process.stop()

    async def _stop_all(self, slots: ScrapySlots) -> None:
        while any(process.pid is not None for process in self._running.values()):
            for place, process in self._running.items():
                process.stop()
                if process.ended() == ExitCode.CLOSED and not process.is_taken:
                    self._ends.closed(place)
            await asyncio.sleep(LOOK_EVERY_S / 5)
        try:
            await self._ends.free_all(slots)
            for job, slot in self._running:
                await slots.free(job, slot)
        except Unavailable:
            # The claims expire.
            pass


def _name(process: ScrapyProcess) -> str:
    return f"process {process.slot} of job {process.job.id}, spider {process.job.spider},"
