"""Reads the frontier without changing it: counts, clocks, and why a job waits or has nothing to lease."""

from __future__ import annotations

import asyncio
import json
import math
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice

from shoal.errors import FrontierLost
from shoal.frontier.contract import ALL_LANES, HostState
from shoal.frontier.politeness_clock import StartClock
from shoal.frontier.serialize import target_of, trail_of
from shoal.frontier.sqlite.leasing import CLOCKS, host_gap, leasable_jobs, permits_of, site_clock, start_of
from shoal.frontier.sqlite.pending_rows import CAPPED, PARKED, RENDERED, Permits, Queue
from shoal.frontier.sqlite.seen import Seen
from shoal.frontier.wait_reason import why_waiting
from shoal.model import Figures, Lane, Target, Trail

_COUNTS = ("found", "queued", "leased", "pages", "assets", "redirects", "dead")
_FIGURES = (
    f"SELECT {', '.join(_COUNTS)}, rendered, "
    "(SELECT json_group_object(reason, n) FROM dropped WHERE job = j.id) AS dropped FROM job j WHERE name = ?"
)

LOOK_EVERY_S = 0.5
"""Another process may have written, and no notice of it arrives here."""
HOST = "h.*, (SELECT count(*) FROM ready r WHERE r.host = h.id AND r.at IS NOT NULL) AS queued_jobs"


class SqliteInspection:
    def __init__(self, db: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._db = db
        self._clock = clock
        self._queue = Queue(db)
        self._seen = Seen(db)
        self._only: tuple[str, ...] = ()
        """The jobs that this process works on; empty: all of them."""

    async def next_ready_in(
        self, lanes: Sequence[Lane] = ALL_LANES, job: str | None = None, *, browser: bool = False
    ) -> float | None:
        now = self._clock()
        soonest = PARKED
        indexes = [ALL_LANES.index(lane) for lane in lanes]
        for row in leasable_jobs(self._db, now, indexes, self._named(job)):
            soonest = min(soonest, self._soonest(row, browser))
        return None if soonest >= PARKED else max(0.0, soonest - now)

    async def wait(self, timeout_s: float, lanes: Sequence[Lane] = ALL_LANES, *, browser: bool = False) -> None:
        deadline, left_s = time.monotonic() + timeout_s, math.inf
        seen, ready_at = -1, math.inf
        while left_s > LOOK_EVERY_S:
            if (state := self._state) != seen:
                ready_in_s = await self.next_ready_in(lanes, browser=browser)
                seen, ready_at = state, math.inf if ready_in_s is None else self._clock() + ready_in_s
            left_s = min(deadline - time.monotonic(), ready_at - self._clock())
            await asyncio.sleep(max(0.0, min(left_s, LOOK_EVERY_S)))

    @property
    def _state(self) -> int:
        """Changes with every change of the file, by this process or another."""
        (by_others,) = self._db.execute("PRAGMA data_version").fetchone()
        return int(by_others) + self._db.total_changes

    def _named(self, job: str | None) -> tuple[str, ...]:
        """The jobs to lease from; empty: all that have no workers of their own. Raises FrontierLost."""
        return self._only if job is None else (self._job_row(job)["name"],)

    def _soonest(self, job: sqlite3.Row, browser: bool) -> float:
        """When to check one of the job's hosts next. Without a permit for a page, only other requests count; without a
        browser, only plain ones."""
        permits = permits_of(job, browser or not job["rendered"])
        if permits.pages == 0:
            query = (
                "SELECT min(at) FROM (SELECT min(at) AS at FROM ready WHERE job = ?1 "
                f"AND host IN (SELECT host FROM queue WHERE job = ?1 AND {permits.rows}) "
                f"UNION ALL SELECT min(at) FROM later WHERE job = ?1 AND band < 0 AND {permits.assets != 0})"
            )
        elif not permits.browser:
            query = (
                "SELECT min(at) FROM (SELECT min(at) AS at FROM ready WHERE job = ?1 "
                f"AND host IN (SELECT host FROM queue WHERE job = ?1 AND {permits.rows}) "
                f"UNION ALL SELECT min(at) FROM later WHERE job = ?1 AND band < {RENDERED})"
            )
        else:
            query = (
                "SELECT min(at) FROM (SELECT min(at) AS at FROM ready WHERE job = ?1 "
                "UNION ALL SELECT min(at) FROM later WHERE job = ?1)"
            )
        (at,) = self._db.execute(query, (job["id"],)).fetchone()
        return PARKED if at is None else float(at)

    async def idle_reason(self, job: str) -> str | None:
        row = self._job_row(job)
        if row["leased"] or row["state"] == "lost":
            return None
        if row["state"] != "active":
            return str(row["state"])
        if row["queued"] == 0:
            return "empty"
        if end_reason := await self.end_reason(job):
            return end_reason
        permits = permits_of(row)
        if permits.pages == 0 and not self._any_without_page_permit(row["id"], permits):
            return "pages"
        if not self._all_capped(row["id"]):
            return None
        return "assets" if permits.assets == 0 and not self._any_page(row["id"]) else "pages_per_host"

    async def end_reason(self, job: str) -> str | None:
        row = self._job_row(job)
        if row["state"] == "cancelled":
            return "cancelled"
        if row["stop_at"] is not None and row["stop_at"] <= self._clock():
            return "seconds"
        if row["cost_max"] is not None and row["cost"] >= row["cost_max"]:
            return "cost"
        return "bytes" if row["bytes_max"] is not None and row["bytes"] >= row["bytes_max"] else None

    def _any_without_page_permit(self, job: int, permits: Permits) -> bool:
        """Whether requests are left that need none."""
        query = f"SELECT 1 FROM queue WHERE job = ?1 AND {permits.rows} UNION ALL SELECT 1 FROM later WHERE job = ?1 "
        query += f"AND band < 0 AND {permits.assets != 0} LIMIT 1"
        return self._db.execute(query, (job,)).fetchone() is not None

    def _any_page(self, job: int) -> bool:
        query = "SELECT 1 FROM queue WHERE job = ? AND band >= 0 LIMIT 1"
        return self._db.execute(query, (job,)).fetchone() is not None

    def _all_capped(self, job: int) -> bool:
        row = self._db.execute(
            "SELECT 1 WHERE EXISTS(SELECT 1 FROM ready WHERE job = ?1 AND at < ?2) "
            "OR EXISTS(SELECT 1 FROM later WHERE job = ?1)",
            (job, CAPPED),
        ).fetchone()
        return row is None

    async def wait_reason(self, job: str) -> str | None:
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

    async def ready_hosts(self, job: str) -> int:
        query = "SELECT count(*) FROM ready WHERE job = ? AND at < ?"
        n: int = self._db.execute(query, (self._job_row(job)["id"], CAPPED)).fetchone()[0]
        return n

    async def figures(self, job: str) -> Figures:
        # One statement: another process may complete requests at any moment, and the counts must add up.
        row = self._db.execute(_FIGURES, (job,)).fetchone()
        if row is None:
            raise FrontierLost(job)
        counts = {name: row[name] for name in _COUNTS}
        return Figures(**counts, dropped=json.loads(row["dropped"]), for_browsers=row["rendered"])

    async def request_state(self, job: str, fingerprint: int, host: str) -> str | None:
        job_id = self._job_row(job)["id"]
        for word, lines in self.pending_lines(job_id, host):
            if any(target_of(line, host).fingerprint == fingerprint for line in lines):
                return word
        return "seen" if self._seen.holds(job_id, fingerprint) else None

    async def queued(self, job: str, most: int) -> AsyncIterator[tuple[Target, Trail]]:
        for host, trail, line in islice(self._queue.head(self._job_row(job)["id"], most), most):
            yield target_of(line, host), trail_of(trail)

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
    clock = StartClock(row["next_at"], row["gap_s"])
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
