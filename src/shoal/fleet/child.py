"""The crawling part of a worker's child process: an event loop in a thread, begun once and kept between slices, with
its connections and whatever is in flight.

A slice, in Celery's thread, opens the frontier to it for a while. A fault of ours ends the process: Celery starts
another, and the leases return.
"""

from __future__ import annotations

import asyncio
import os
import resource
import threading
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from shoal.engine.chores import DRAIN_S
from shoal.engine.ending import Ending
from shoal.engine.engine import SAVE_S, Engine
from shoal.errors import Unavailable
from shoal.fetch.open_files import raise_open_files
from shoal.fleet import roster
from shoal.fleet.life import Life, machine
from shoal.fleet.opening import Opening
from shoal.fleet.place import ring
from shoal.fleet.slices import is_work
from shoal.fleet.source import Source
from shoal.fleet.stopping import stopping_since, told_to_stop
from shoal.fleet.tally import Tally
from shoal.fleet.trouble import Trouble
from shoal.frontier.contract import ALL_LANES
from shoal.frontier.redis import RedisFrontier
from shoal.model import Lane
from shoal.settings import Settings
from shoal.store.archive.archive import Archive
from shoal.store.archive.sending import adopt
from shoal.store.archive.spools import ON_A_FLEET, Spools
from shoal.store.writer import Writer
from shoal.telemetry import Events
from shoal.urls.exclusions import read_exclusions

LOOK_EVERY_S = 0.25
IDLE_S = 2.0
"""A slice that finds nothing to do for so long ends."""
RETIRE_AFTER_S = 120.0
TEND_SPOOLS_S = 5.0
EXIT_FAULT = 70

log = Events(__name__)


class Child:
    def __init__(self, settings: Settings, lanes: Sequence[Lane]) -> None:
        self._settings = settings
        self._lanes = tuple(lanes)
        self._life = Life(settings.home, "child")
        self._loop = _new_event_loop()
        self._ready = asyncio.Event()
        self._stopping = False
        self._ended = threading.Event()
        self._lane: Lane | None = None
        self._news = asyncio.Event()
        self._busy_at = 0.0
        """When its slice last found something to do."""
        self._told_ended = 0
        self._is_express_over = False
        self._tally = Tally(self._life.id)
        self._spool_trouble = Trouble(log)
        self._thread = threading.Thread(target=self._run, name="crawl", daemon=True)
        self._thread.start()

    def slice(self, lane: Lane) -> bool:
        """Leases from this lane and every better one for the length of a slice. True: there is more to do."""
        slice = asyncio.run_coroutine_threadsafe(self._slice(lane), self._loop)
        try:
            return slice.result()
        finally:
            # One that Celery cuts off must not take the permission of the next.
            slice.cancel()

    def end(self) -> None:
        """Saves what it can of what is in flight, and gives the rest back."""
        self._stopping = True
        # Its slice may have waited for a server since the word was given.
        since = stopping_since() or time.monotonic()
        self._ended.wait(max(0.0, since + DRAIN_S + SAVE_S - time.monotonic()))

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._work())
            if not self._is_over():
                raise RuntimeError("the crawl ended, and nobody told it to")
            self._ended.set()
            # A slice may still wait to hear that it is over.
            self._loop.run_forever()
        except BaseException:
            # Whatever it is, the process must not live on without its crawl.
            log.exception("crawl_failed", "the crawl of this process failed; it ends, and another takes its place")
            os._exit(EXIT_FAULT)

    async def _work(self) -> None:
        raise_open_files()
        opening = Opening(self._settings, self._life, self._is_over)
        store, frontier = await opening.store(), await opening.frontier()
        if store is None or frontier is None:
            return
        settings = self._settings
        writer = Writer(store)
        archive = Archive.at(settings.archive_url, settings.home)
        spools = Spools(archive, machine(), ON_A_FLEET)
        exclusions = read_exclusions(settings.exclusions)
        source = Source(store, writer, spools, exclusions, settings.spiders, settings.allow_private)
        self._engine = Engine(frontier, writer, self._life.mark, settings.concurrency, self._life.id, source)
        self._engine.on_ending = self._note_ending
        self._connection = frontier.connection
        self._ready.set()
        beside = self._begin(self._beat(), self._enrol(frontier), self._retire(), self._tend(writer, spools, archive))
        try:
            await self._engine.serve()
            await self._engine.retire(0.0)
            await self._seal(writer, spools)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await source.close()
            writer.close()
            spools.close()
        await self._tally.say_goodbye(frontier)
        await roster.remove(frontier.connection, self._life.id)
        await frontier.close()
        store.close()
        self._end_life()

    def _begin(self, *works: Coroutine[Any, Any, None]) -> list[asyncio.Task[None]]:
        """What goes on beside the crawl, which does not outlive it."""
        begun = [asyncio.create_task(work) for work in works]
        for task in begun:
            task.add_done_callback(self._end_if_failed)
        return begun

    def _end_life(self) -> None:
        if self._engine.is_resting:
            self._life.end()
        else:
            # What Redis could not be told of returns when the next worker here finds this one gone.
            self._life.mark.clear()

    async def _slice(self, lane: Lane) -> bool:
        deadline = time.monotonic() + self._settings.slice_s
        while not self._ready.is_set():
            if self._is_over() or time.monotonic() > deadline:
                return not self._is_over()
            await asyncio.sleep(LOOK_EVERY_S)
        lanes = ALL_LANES[: ALL_LANES.index(lane) + 1]
        began_at = self._busy_at = time.monotonic()
        self._engine.permit(lanes)
        self._work_in(lane)
        try:
            # Redis is waited for as long as it takes, but not by a slice.
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._until_idle(lanes)
            return False
        except TimeoutError:
            return self._busy_at > began_at and not self._engine.stopping
        finally:
            self._work_in(None)
            self._engine.permit(())

    async def _until_idle(self, lanes: Sequence[Lane]) -> None:
        """Or until it is told to stop: then it waits for no server any more."""
        with suppress(Unavailable):
            while not self._engine.stopping and time.monotonic() - self._busy_at < IDLE_S:
                if not self._engine.is_resting or await self._is_there_work(lanes):
                    self._busy_at = time.monotonic()
                await self._tell_of_rest()
                await asyncio.sleep(LOOK_EVERY_S)

    def _note_ending(self, end: Ending) -> None:
        lane = self._engine.lane_of(end.lease.job)
        self._tally.add(lane, end)
        if lane is Lane.EXPRESS and not self._engine.is_held(end.lease.job):
            self._is_express_over = True

    async def _tell_of_rest(self) -> None:
        """Once: a job may have ended with it, and whoever tends the fleet need not find out by and by. Of urgent ones
        also while others go on."""
        rests = self._engine.is_resting and self._engine.ended > self._told_ended
        if rests or self._is_express_over:
            self._told_ended, self._is_express_over = self._engine.ended, False
            await self._engine.insist(ring, self._connection)

    def _work_in(self, lane: Lane | None) -> None:
        self._lane = lane
        self._news.set()

    async def _is_there_work(self, lanes: Sequence[Lane]) -> bool:
        return is_work(await self._engine.ready_in(lanes))

    async def _beat(self) -> None:
        """The loop itself says that it turns; what it says is when the engine last got anywhere."""
        while True:
            engine = self._engine
            excused = engine.waiting_for is not None or (self._lane is None and engine.is_resting)
            self._life.progressed(time.monotonic() if excused else engine.progressed_at, engine.waiting_for)
            if self._is_over():
                engine.stop()
            await asyncio.sleep(LOOK_EVERY_S)

    async def _enrol(self, frontier: RedisFrontier) -> None:
        while True:
            self._news.clear()
            await self._engine.insist(roster.write, frontier.connection, self._entry())
            await self._engine.insist(self._tally.send, frontier)
            try:
                # A slice that begins or ends is told at once, lest another be sent to a process that has one.
                async with asyncio.timeout(roster.WRITE_EVERY_S):
                    await self._news.wait()
            except TimeoutError:
                pass

    def _entry(self) -> roster.Entry:
        engine = self._engine
        return roster.Entry(
            id=self._life.id,
            role="child",
            machine=machine(),
            pid=os.getpid(),
            lanes=self._lanes,
            lane=self._lane,
            in_flight=engine.in_flight,
            unstored=engine.unstored,
            ended=engine.ended,
            memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            waiting_for=engine.waiting_for,
            unloadable=dict(engine.unloadable),
            reading=engine.reading_notes(),
        )

    async def _retire(self) -> None:
        while True:
            await asyncio.sleep(RETIRE_AFTER_S / 4)
            await self._engine.insist(self._engine.retire, RETIRE_AFTER_S)

    async def _tend(self, writer: Writer, spools: Spools, archive: Archive) -> None:
        """Segments that are full, and those of processes that died, go to the archive; what hinders that is tried
        again, and said once."""
        while True:
            await asyncio.sleep(TEND_SPOOLS_S)
            try:
                await writer.run(adopt, archive)
                await writer.run(spools.tend)
                trouble = spools.trouble
            except Unavailable as reason:
                trouble = str(reason)
            if trouble is None:
                self._spool_trouble.over()
            else:
                self._spool_trouble.waits(f"segments wait in the spool: {trouble}")

    async def _seal(self, writer: Writer, spools: Spools) -> None:
        try:
            await writer.run(spools.seal_all)
        except Unavailable as trouble:
            log.warning("segments_left", f"segments stay in the spool until a worker here adopts them: {trouble}")

    def _end_if_failed(self, task: asyncio.Task[None]) -> None:
        fault = None if task.cancelled() else task.exception()
        # One that is told to stop waits for no server any more.
        if fault is not None and not (self._is_over() and isinstance(fault, Unavailable)):
            log.error("crawl_failed", f"this process ends, and another takes its place: {fault!r}")
            os._exit(EXIT_FAULT)

    def _is_over(self) -> bool:
        return self._stopping or told_to_stop()


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
