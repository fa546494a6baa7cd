"""The watch that a worker's main process keeps: over the children of its machine, its servers, and itself.

A child that makes no progress is killed, and Celery starts another. What a dead one held returns to the frontier at
once, and the page it was parsing is blamed; so does what a whole worker left that was killed, when the next starts.
The main process counts as silent itself while slices wait that it does not take.
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

from shoal.engine.chores import KEEPS_PER_LEASE
from shoal.errors import HomeError, Unavailable, UsageError
from shoal.fleet import roster, slices
from shoal.fleet.broker import refused_messages
from shoal.fleet.life import Life, Sign, bury_dead, signs
from shoal.fleet.opening import AT_ONCE, Opening
from shoal.fleet.stopping import told_to_stop
from shoal.fleet.tally import Tally
from shoal.fleet.trouble import Trouble
from shoal.frontier.contract import Caller
from shoal.frontier.redis import RedisFrontier
from shoal.model import Lane
from shoal.settings import Settings
from shoal.telemetry import Events

LOOK_EVERY_S = 0.5
LOOK_AROUND_EVERY_S = 5.0
LEAVES_AFTER_S = 5.0
"""When it is told to end, and none of its processes has anything left to save."""

log = Events(__name__)


class Watch:
    def __init__(self, settings: Settings, app: Celery, lanes: Sequence[Lane], processes: int) -> None:
        self.consuming = threading.Event()
        """To be set when Celery takes slices."""
        self._settings = settings
        self._app = app
        self._lanes = lanes
        self._processes = processes
        self._over = threading.Event()
        self._life = Life(settings.home, "worker")
        self._caller = Caller(self._life.id)
        self._tally = Tally(self._life.id)
        self._trouble = Trouble(log)
        self._idle_since: float | None = None
        """When its processes were first seen to get nothing of what there is."""
        self._why_idle = ""
        self._done_since: float | None = None
        """When it was first seen to be told to end with nothing left to do."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def start(self) -> None:
        bury_dead(self._settings.home, "worker")
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()
        self._life.end()

    def _run(self) -> None:
        try:
            asyncio.run(self._keep())
        except (UsageError, HomeError) as error:
            log.error("worker_refused", str(error))
            self._leave(error.exit_code)

    async def _keep(self) -> None:
        opening = Opening(self._settings, self._life, self._over.is_set, self._trouble)
        bounds = replace(AT_ONCE, lease_s=self._settings.lease_s)
        store = await opening.store()
        frontier = await opening.frontier(bounds, role_of=store)
        if store is None or frontier is None:
            return
        store.close()
        try:
            await self._tell_ready()
            # Not at once: children that waited for the same servers find them a moment later.
            look_around_at = time.monotonic() + LOOK_AROUND_EVERY_S
            while not self._over.is_set():
                if time.monotonic() >= look_around_at:
                    look_around_at = time.monotonic() + LOOK_AROUND_EVERY_S
                    await self._look_around(frontier)
                self._live()
                await self._look_after_children(frontier)
                self._leave_if_done()
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            await frontier.close()

    async def _tell_ready(self) -> None:
        look_at_broker_at = time.monotonic() + LOOK_AROUND_EVERY_S
        while not self.consuming.is_set() and not self._over.is_set():
            if time.monotonic() >= look_at_broker_at:
                look_at_broker_at = time.monotonic() + LOOK_AROUND_EVERY_S
                await self._look_at_broker()
            self._live()
            await asyncio.sleep(LOOK_EVERY_S)
        if not self._over.is_set():
            processes = f"{self._processes} process{'es' if self._processes > 1 else ''}"
            words = f"ready: {processes} for {', '.join(self._lanes)}; {self._settings.servers}"
            log.info("worker_ready", words)

    async def _look_at_broker(self) -> None:
        """Why Celery does not begin; its own lines about it are not shown."""
        try:
            await asyncio.to_thread(slices.waiting, self._app, self._lanes[0])
        except Unavailable as reason:
            self._trouble.waits(str(reason))
        else:
            self._trouble.over()

    def _live(self) -> None:
        idle = self._idle_since
        self._life.progressed(idle or time.monotonic(), self._why_idle if idle else self._trouble.reason)

    async def _look_after_children(self, frontier: RedisFrontier) -> None:
        for sign in signs(self._settings.home):
            if sign.role != "child":
                # A dead worker or tend is what `shoal health` tells of, until another takes its place.
                continue
            if sign.is_dead:
                await self._mourn(sign, frontier)
            elif sign.parent == os.getpid() and sign.silent_s > self._settings.silent_s:
                words = f"process {sign.pid} has made no progress for {sign.silent_s:.0f} s: it is replaced"
                log.error("child_silent", words, child=sign.pid)
                with suppress(ProcessLookupError):
                    os.kill(sign.pid, signal.SIGKILL)
            elif sign.silent_s > self._settings.lease_s / KEEPS_PER_LEASE:
                await self._keep_blameable(sign, frontier)

    def _leave_if_done(self) -> None:
        """Celery's own way out has been seen to wait without end for processes that had saved all they had."""
        if not told_to_stop() or any(
            sign.role == "child" and sign.parent == os.getpid() and not sign.is_dead
            for sign in signs(self._settings.home)
        ):
            self._done_since = None
            return
        self._done_since = self._done_since or time.monotonic()
        if time.monotonic() - self._done_since > LEAVES_AFTER_S:
            log.warning("worker_left", "all is saved, but Celery does not end: the worker leaves by itself")
            self._leave(0)

    def _leave(self, code: int) -> None:
        for child in active_children():
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        self._life.end()
        os._exit(code)

    async def _keep_blameable(self, sign: Sign, frontier: RedisFrontier) -> None:
        """The page that a silent process is parsing stays its own: once leased by another it could not be blamed any
        more, and would silence that one too."""
        if tokens := sign.was_parsing:
            with suppress(Unavailable):
                await frontier.extend(self._caller.next(), tokens)

    async def _mourn(self, sign: Sign, frontier: RedisFrontier) -> None:
        try:
            returned = await frontier.reap(blamed=sign.was_parsing, gone=[sign.id])
        except Unavailable:
            # Looked at again in a moment; if Redis is away for long, the leases expire by themselves.
            return
        words = f"process {sign.pid} died: {returned} of its requests returned"
        log.warning("child_died", words, child=sign.pid, returned=returned)
        # Sooner than its entry ends by itself: nobody is to count on it, nor to be told that it is at work.
        await roster.remove(frontier.connection, sign.id)
        sign.bury()

    async def _look_around(self, frontier: RedisFrontier) -> None:
        mine = [sign for sign in signs(self._settings.home) if sign.parent == os.getpid() and not sign.is_dead]
        pids = {sign.pid for sign in mine}
        try:
            found = await roster.entries(frontier.connection)
            children = [entry for entry in found if entry.pid in pids and entry.role == "child"]
            idle = await self._idle(len(mine), children)
            self._tally.add_refused(refused_messages.take())
            await self._tally.send(frontier)
        except Unavailable as reason:
            self._trouble.waits(str(reason))
            self._idle_since = None
            return
        # Not from the roster: a Redis that is full takes no entries.
        waiting = next((sign.waiting_for for sign in mine if sign.waiting_for), None)
        if waiting:
            self._trouble.waits(waiting)
        elif mine and not told_to_stop():
            # One that is told to stop waits for nothing, whether or not it is back.
            self._trouble.over()
        self._idle_since = (self._idle_since or time.monotonic()) if idle else None
        self._why_idle = idle or ""

    async def _idle(self, alive: int, children: list[roster.Entry]) -> str | None:
        """Why nothing is done here that could be. Celery has been seen to stop consuming when Redis came back."""
        if not alive:
            return "none of its processes lives"
        for lane in self._lanes if any(entry.lane is None for entry in children) else ():
            if await asyncio.to_thread(slices.waiting, self._app, lane):
                return f"slices wait in {lane} and a process is at rest, but Celery takes none"
        return None
