"""The watchdog of a worker's main process. It watches the children on its machine, its servers, and itself.

It kills a child that makes no progress, and Celery starts another. It returns the leases of dead children to the
frontier at once and blames the page that each was parsing; after a whole worker was killed, the next one does this.
The main process counts as silent itself while slices wait that Celery does not take.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from billiard.process import active_children
from celery import Celery

from shoal.engine.periodic_tasks import EXTENDS_PER_LEASE
from shoal.errors import HomeError, Unavailable, UsageError
from shoal.fleet import roster, slice_queue
from shoal.fleet.celery_transport import refused_messages
from shoal.fleet.heartbeat_files import Heartbeat, LastHeartbeat, last_heartbeats, remove_dead
from shoal.fleet.metric_counters import Counters
from shoal.fleet.outage_log import OutageLog
from shoal.fleet.shared_stop_flag import stop_requested
from shoal.fleet.wait_for_servers import AT_ONCE, ServerWait
from shoal.frontier.contract import Caller
from shoal.frontier.redis import RedisFrontier
from shoal.model import Lane
from shoal.settings import Settings
from shoal.telemetry import EventLogger

LOOK_EVERY_S = 0.5
CHECK_EVERY_S = 5.0
LEAVES_AFTER_S = 5.0
"""Delay until the worker exits after a stop request, once all of its children have ended."""

log = EventLogger(__name__)


class WorkerWatchdog:
    def __init__(self, settings: Settings, app: Celery, lanes: Sequence[Lane], processes: int) -> None:
        self.consuming = threading.Event()
        """Set when Celery starts to take slices."""
        self._settings = settings
        self._app = app
        self._lanes = lanes
        self._processes = processes
        self._over = threading.Event()
        self._heartbeat = Heartbeat(settings.home, "worker")
        self.id = self._heartbeat.id
        self._caller = Caller(self._heartbeat.id)
        self._tally = Counters(self._heartbeat.id)
        self._outage_log = OutageLog(log)
        self._idle_since: float | None = None
        """Since when slices wait that its idle children do not get."""
        self._why_idle = ""
        self._done_since: float | None = None
        """Since when a stop was requested and no child is left."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        remove_dead(self._settings.home, "worker")
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self._heartbeat.end()

    def _run(self) -> None:
        try:
            asyncio.run(self._watch())
        except (UsageError, HomeError) as error:
            log.error("worker_refused", str(error))
            self._leave(error.exit_code)

    async def _watch(self) -> None:
        opening = ServerWait(self._settings, self._heartbeat, self._over.is_set, self._outage_log)
        bounds = replace(AT_ONCE, lease_s=self._settings.lease_s)
        store = await opening.store()
        frontier = await opening.frontier(bounds, role_of=store)
        if store is None or frontier is None:
            return
        store.close()
        try:
            await self._wait_until_ready()
            # Not at once: children that waited for the same servers reach them a moment later.
            check_at = time.monotonic() + CHECK_EVERY_S
            while not self._over.is_set():
                if time.monotonic() >= check_at:
                    check_at = time.monotonic() + CHECK_EVERY_S
                    await self._check_worker(frontier)
                self._live()
                await self._check_children(frontier)
                self._leave_if_done()
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await frontier.close()

    async def _wait_until_ready(self) -> None:
        check_broker_at = time.monotonic() + CHECK_EVERY_S
        while not self.consuming.is_set() and not self._over.is_set():
            if time.monotonic() >= check_broker_at:
                check_broker_at = time.monotonic() + CHECK_EVERY_S
                await self._check_broker()
            self._live()
            await asyncio.sleep(LOOK_EVERY_S)
        if not self._over.is_set():
            processes = f"{self._processes} process{'es' if self._processes > 1 else ''}"
            text = f"ready: {processes} for {', '.join(self._lanes)}; {self._settings.servers}"
            log.info("worker_ready", text)

    async def _check_broker(self) -> None:
        """Logs why Celery does not start; Celery's own log lines are hidden."""
        try:
            await asyncio.to_thread(slice_queue.waiting, self._app, self._lanes[0])
        except Unavailable as reason:
            self._outage_log.waits(str(reason))
        else:
            self._outage_log.over()

    def _live(self) -> None:
        idle = self._idle_since
        self._heartbeat.progressed(idle or time.monotonic(), self._why_idle if idle else self._outage_log.reason)

    async def _check_children(self, frontier: RedisFrontier) -> None:
        for sign in last_heartbeats(self._settings.home):
            if sign.role != "child":
                # `shoal health` reports a dead worker or tend until another one replaces it.
                continue
            if sign.is_dead:
                await self._return_leases(sign, frontier)
            elif sign.parent == os.getpid() and sign.silent_s > self._settings.silent_s:
                text = f"process {sign.pid} made no progress for {sign.silent_s:.0f} s: it is killed and replaced"
                log.error("child_silent", text, child=sign.pid)
                with suppress(ProcessLookupError):
                    os.kill(sign.pid, signal.SIGKILL)
            elif sign.silent_s > self._settings.lease_s / EXTENDS_PER_LEASE:
                await self._keep_blameable(sign, frontier)

    def _leave_if_done(self) -> None:
        """Exits by itself: Celery's shutdown can wait forever for children that have already ended."""
        if not stop_requested() or any(
            sign.role == "child" and sign.parent == os.getpid() and not sign.is_dead
            for sign in last_heartbeats(self._settings.home)
        ):
            self._done_since = None
            return
        self._done_since = self._done_since or time.monotonic()
        if time.monotonic() - self._done_since > LEAVES_AFTER_S:
            log.warning("worker_left", "all work is saved, but Celery does not stop: the worker exits without it")
            self._leave(0)

    def _leave(self, code: int) -> None:
        for child in active_children():
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        self._heartbeat.end()
        os._exit(code)

    async def _keep_blameable(self, sign: LastHeartbeat, frontier: RedisFrontier) -> None:
        """Extends the lease of the page that a silent process is parsing. If another process leased that page, it could
        no longer be blamed, and would silence that process too."""
        if tokens := sign.was_parsing:
            with suppress(Unavailable):
                await frontier.extend(self._caller.next(), tokens)

    async def _return_leases(self, sign: LastHeartbeat, frontier: RedisFrontier) -> None:
        try:
            returned = await frontier.reap(blamed=sign.was_parsing, gone=[sign.id])
        except Unavailable:
            # Tried again in a moment; if Redis is away for long, the leases expire by themselves.
            return
        text = f"process {sign.pid} died: {returned} of its requests returned to the queue"
        log.warning("child_died", text, child=sign.pid, returned=returned)
        # Before its roster entry expires, so that nobody counts on a dead process.
        await roster.remove(frontier.connection, sign.id)
        sign.delete_files()

    async def _check_worker(self, frontier: RedisFrontier) -> None:
        mine = [
            sign for sign in last_heartbeats(self._settings.home) if sign.parent == os.getpid() and not sign.is_dead
        ]
        pids = {sign.pid for sign in mine}
        try:
            found = await roster.entries(frontier.connection)
            children = [entry for entry in found if entry.pid in pids and entry.role == "child"]
            idle = await self._idle(len(mine), children)
            self._tally.add_refused(refused_messages.take())
            await self._tally.send(frontier)
        except Unavailable as reason:
            self._outage_log.waits(str(reason))
            self._idle_since = None
            return
        # From the heartbeats, not from the roster: a full Redis takes no entries.
        waiting = next((sign.waiting_for for sign in mine if sign.waiting_for), None)
        if waiting:
            self._outage_log.waits(waiting)
        elif mine and not stop_requested():
            # After a stop request children wait for nothing, so this says nothing about the server.
            self._outage_log.over()
        self._idle_since = (self._idle_since or time.monotonic()) if idle else None
        self._why_idle = idle or ""

    async def _idle(self, alive: int, children: list[roster.RosterEntry]) -> str | None:
        """Why slices wait although a process is idle. Celery can stop consuming when Redis comes back."""
        if not alive:
            return "it has no living child process"
        for lane in self._lanes if any(entry.lane is None for entry in children) else ():
            if await asyncio.to_thread(slice_queue.waiting, self._app, lane):
                return f"slices wait in lane {lane} and a process is idle, but Celery takes none"
        return None
