"""What can be seen of the frontier without changing it: counts, clocks, and why a job waits or rests."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence

from shoal.errors import FrontierLost
from shoal.frontier.clock import Clock
from shoal.frontier.contract import ALL_LANES, HostState
from shoal.frontier.record import target_of
from shoal.frontier.sqlite.leasing import CLOCKS, host_gap, leasable_jobs, site_clock, start_of
from shoal.frontier.sqlite.queue import CAPPED, PARKED, Queue
from shoal.frontier.sqlite.seen import Seen
from shoal.frontier.waiting import why_waiting
from shoal.model import Figures, Lane

LOOK_EVERY_S = 0.5
"""Another process may have written, and nobody tells of it."""
HOST = "h.*, (SELECT count(*) FROM ready r WHERE r.host = h.id AND r.at IS NOT NULL) AS queued_jobs"


class Outlook:
    def __init__(self, db: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._db = db
        self._clock = clock
        self._queue = Queue(db)
        self._seen = Seen(db)

    async def next_ready_in(self, lanes: Sequence[Lane] = ALL_LANES) -> float | None:
        now = self._clock()
        soonest = PARKED
        for job in leasable_jobs(self._db, now, [ALL_LANES.index(lane) for lane in lanes]):
            soonest = min(soonest, self._soonest(job))
        return None if soonest >= PARKED else max(0.0, soonest - now)

    async def wait(self, timeout_s: float, lanes: Sequence[Lane] = ALL_LANES) -> None:
        deadline, left_s = time.monotonic() + timeout_s, math.inf
        while left_s > LOOK_EVERY_S:
            ready_in_s = await self.next_ready_in(lanes)
            left_s = min(deadline - time.monotonic(), math.inf if ready_in_s is None else ready_in_s)
            await asyncio.sleep(max(0.0, min(left_s, LOOK_EVERY_S)))

    def _soonest(self, job: sqlite3.Row) -> float:
        """When to look at one of the job's hosts; with no permit left, at one that holds a request with its own."""
        if job["spent"]:
            query = (
                "SELECT min(r.at) FROM ready r JOIN queue q ON q.job = r.job AND q.host = r.host "
                "WHERE q.job = ? AND q.held"
            )
        else:
            query = (
                "SELECT min(at) FROM (SELECT min(at) AS at FROM ready WHERE job = ?1 "
                "UNION ALL SELECT min(at) FROM later WHERE job = ?1)"
            )
        (at,) = self._db.execute(query, (job["id"],)).fetchone()
        return PARKED if at is None else float(at)

    async def rest(self, job: str) -> str | None:
        row = self._job_row(job)
        if row["leased"] or row["state"] == "lost":
            return None
        if row["state"] != "active":
            return str(row["state"])
        if row["queued"] == 0:
            return "empty"
        if over := await self.over(job):
            return over
        if row["pages_max"] is not None and row["permits"] >= row["pages_max"] and not self._any_held(row["id"]):
            return "pages"
        return "pages_per_host" if self._all_capped(row["id"]) else None

    async def over(self, job: str) -> str | None:
        row = self._job_row(job)
        if row["state"] == "cancelled":
            return "cancelled"
        if row["stop_at"] is not None and row["stop_at"] <= self._clock():
            return "seconds"
        return "bytes" if row["bytes_max"] is not None and row["bytes"] >= row["bytes_max"] else None

    def _any_held(self, job: int) -> bool:
        return bool(self._db.execute("SELECT 1 FROM queue WHERE job = ? AND held LIMIT 1", (job,)).fetchone())

    def _all_capped(self, job: int) -> bool:
        row = self._db.execute(
            "SELECT 1 WHERE EXISTS(SELECT 1 FROM ready WHERE job = ?1 AND at < ?2) "
            "OR EXISTS(SELECT 1 FROM later WHERE job = ?1)",
            (job, CAPPED),
        ).fetchone()
        return row is None

    async def limiting(self, job: str) -> str | None:
        row, now = self._job_row(job), self._clock()
        waiting = self._db.execute(
            f"SELECT h.name, {CLOCKS} WHERE r.job = ? AND r.at < ? ORDER BY r.at LIMIT 2", (row["id"], CAPPED)
        ).fetchall()
        if not waiting:
            return None
        first = waiting[0]
        host, gap_s = await self.host(first["name"]), host_gap(row, first, now)
        assert host is not None
        start_at = start_of(first, site_clock(first), gap_s)
        return why_waiting(host._replace(next_at=start_at), now, len(waiting) > 1)

    async def figures(self, job: str) -> Figures:
        row = self._job_row(job)
        dropped = dict(self._db.execute("SELECT reason, n FROM dropped WHERE job = ?", (row["id"],)).fetchall())
        counts = ("found", "queued", "leased", "pages", "redirects", "dead")
        return Figures(**{name: row[name] for name in counts}, dropped=dropped)

    async def whereabouts(self, job: str, fingerprint: int, host: str) -> str | None:
        job_id = self._job_row(job)["id"]
        for word, lines in self.pending_lines(job_id, host):
            if any(target_of(line, host).fingerprint == fingerprint for line in lines):
                return word
        return "seen" if self._seen.holds(job_id, fingerprint) else None

    def pending_lines(self, job: int, host: str) -> Iterator[tuple[str, Iterator[str]]]:
        row = self._db.execute("SELECT id FROM host WHERE name = ?", (host,)).fetchone()
        if row is None:
            return
        for table, word in (("lease", "leased"), ("later", "waiting")):
            query = f"SELECT line FROM {table} WHERE job = ? AND host = ?"
            yield word, (found["line"] for found in self._db.execute(query, (job, row["id"])))
        yield "queued", self._queue.lines(job, row["id"])

    async def hosts(self, after: str = "", most: int | None = None) -> list[HostState]:
        query = f"SELECT {HOST} FROM host h WHERE name > ? ORDER BY name LIMIT ?"
        return [_host_state(row) for row in self._db.execute(query, (after, -1 if most is None else most))]

    async def host(self, name: str) -> HostState | None:
        row = self._db.execute(f"SELECT {HOST} FROM host h WHERE name = ?", (name,)).fetchone()
        return None if row is None else _host_state(row)

    def _job_row(self, job: str) -> sqlite3.Row:
        row: sqlite3.Row | None = self._db.execute("SELECT * FROM job WHERE name = ?", (job,)).fetchone()
        if row is None:
            raise FrontierLost(job)
        return row


def _host_state(row: sqlite3.Row) -> HostState:
    clock = Clock(row["next_at"], row["gap_s"])
    return HostState(
        name=row["name"],
        rate=row["rate"],
        paused=bool(row["paused"]),
        in_flight=row["in_flight"],
        next_at=max(row["floor_at"], clock.for_any_job(row["rate"], row["crawl_delay_s"])),
        block_until=row["block_until"],
        block_reason=row["block_reason"],
        crawl_delay_s=row["crawl_delay_s"],
        slowdown=row["slowdown"],
        latency_s=row["recent_s"],
        fails=row["fails"],
        queued_jobs=row["queued_jobs"],
    )
