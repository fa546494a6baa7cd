"""Chooses what may be fetched now: the best lane first, jobs in turn, hosts whose clock allows it.

`ready.at` is when to check a host for a job. It is corrected when the host is checked, not whenever the host's clock
moves, so a host that many jobs share costs nothing while it waits. A host that is full or paused is parked until a
landing or an operator wakes it. A host where a limit of pages or assets is reached is capped.

Unproven hosts have not answered the job yet. While other hosts are due too, unproven ones get only their share.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from shoal.frontier.adaptive_delay import UNREACHABLE_AFTER_S, UNREACHABLE_FAILURES, gap_of, slowdown_at
from shoal.frontier.contract import ALL_LANES, UNPROVEN_ONE_IN
from shoal.frontier.politeness_clock import StartClock
from shoal.frontier.serialize import target_of, trail_of
from shoal.frontier.sqlite.pending_rows import ASSETS, CAPPED, PARKED, RENDERED, Pending, Permits, Queue
from shoal.model import Lane, Lease, without_port

UNREACHABLE_BATCH = 500
LOOKS_PER_JOB = 256
CLOCK_SLACK_S = 1.0
CLOCKS = (
    "h.rate, h.crawl_delay_s, h.slowdown, h.learnt_at, h.block_until, h.floor_at, h.next_at, h.gap_s, "
    "r.next_at AS own_at, h.site, s.next_at AS site_next_at, s.gap_s AS site_gap_s "
    "FROM ready r JOIN host h ON h.id = r.host JOIN site s ON s.id = h.site"
)
"""Joins a job's hosts with everything that decides when one may be fetched."""


class Leasing:
    """One lease call."""

    def __init__(
        self,
        db: sqlite3.Connection,
        queue: Queue,
        now: float,
        horizon_s: float,
        lease_s: float,
        caller: str,
        only: Sequence[str],
    ) -> None:
        """`only`: the jobs to lease from; empty: all that have no workers of their own."""
        self._db = db
        self._only = only
        self._lease_s = lease_s
        self._caller = caller
        self._queue = queue
        self._now = now
        self._until = now + horizon_s
        self._spent: Counter[int] = Counter()
        """Band -> permits that the job took."""
        self._browsers = 0
        """How many requests that need a browser may still be leased."""
        self._renders = False
        """Whether the job has requests that need a browser."""
        self._rendered_first = True
        self._sites: dict[int, StartClock] = {}
        """Clocks that this call moved. Rows that it read before hold their old values."""
        self._token, leased_at = db.execute("SELECT last, leased_at FROM token").fetchone()
        if now < leased_at - CLOCK_SLACK_S:
            shift_clocks(db, leased_at - now)
        (self._turn,) = db.execute("SELECT coalesce(max(turn), 0) FROM job").fetchone()

    def lease(self, n: int, lanes: Sequence[Lane], browsers: int) -> list[Lease]:
        leases: list[Lease] = []
        self._browsers = browsers
        indexes = [ALL_LANES.index(lane) for lane in lanes]
        jobs = leasable_jobs(self._db, self._now, indexes, self._only)
        for _, peers in groupby(jobs, key=lambda job: (job["lane"], job["priority"])):
            leases += self._in_turns(list(peers), n - len(leases))
        if leases:
            self._db.execute("UPDATE token SET last = ?, leased_at = ?", (self._token, self._now))
        return leases

    def _in_turns(self, jobs: list[sqlite3.Row], n: int) -> list[Lease]:
        leases: list[Lease] = []
        while jobs and len(leases) < n:
            share = max(1, (n - len(leases)) // len(jobs))
            hungry = []
            for job in jobs:
                quota = min(share, n - len(leases))
                got = self._of_job(job["id"], quota) if quota else []
                leases += got
                if got and len(got) >= quota:
                    hungry.append(job)
            jobs = hungry
        return leases

    def _of_job(self, job_id: int, quota: int) -> list[Lease]:
        job = self._db.execute("SELECT * FROM job WHERE id = ?", (job_id,)).fetchone()
        self._promote_due(job_id)
        leases: list[Lease] = []
        looks = 0
        share = unproven_share(job["given"], quota)
        # Read again: retries that were due may need a browser.
        (rendered,) = self._db.execute("SELECT rendered FROM job WHERE id = ?", (job_id,)).fetchone()
        self._renders = rendered > 0
        permits = permits_of(job, browser=not rendered or self._browsers > 0)
        self._spent.clear()
        while len(leases) < quota and looks < LOOKS_PER_JOB:
            rows = permits.rows
            hosts, each = self._due_hosts(job_id, quota - len(leases) + 8, share, permits)
            for host in hosts:
                if len(leases) >= quota or permits.rows != rows:
                    break
                most = quota if host["answered"] else each
                self._rendered_first = (job["given"] + len(leases)) % 2 == 0
                got = self._of_host(job, host, min(most, quota - len(leases)), permits)
                leases += got
                permits.browser = not rendered or self._browsers > 0
                share -= 0 if host["answered"] else len(got)
            looks += len(hosts)
            if not hosts:
                break
        if leases:
            self._count(job_id, leases)
        return leases

    def _count(self, job_id: int, leases: list[Lease]) -> None:
        self._turn += 1
        assets, rendered = self._spent[ASSETS], sum(lease.needs_browser for lease in leases)
        self._db.execute(
            "UPDATE job SET turn = ?1, given = given + ?2, queued = queued - ?2, leased = leased + ?2, "
            "permits = permits + ?3, asset_permits = asset_permits + ?4, rendered = rendered - ?5 WHERE id = ?6",
            (self._turn, len(leases), self._spent.total() - assets, assets, rendered, job_id),
        )

    def _due_hosts(self, job_id: int, n: int, share: int, permits: Permits) -> tuple[list[sqlite3.Row], int]:
        """The hosts to check, the longest due first, and the most leases that each unproven host gets. If unproven and
        answered hosts are both due, the unproven ones that fit their share come first. Without a permit for a page,
        only hosts with other requests; without a browser, only hosts with plain ones."""
        fitting = f"AND r.host IN (SELECT host FROM queue WHERE job = r.job AND {permits.rows})"
        if permits.pages == 0:
            return self._longest_due(job_id, n, fitting), n
        only = "" if permits.browser else fitting
        due = self._longest_due(job_id, n, only)
        unproven = [host for host in due if not host["answered"]]
        answered = self._longest_due(job_id, n, f"AND r.answered {only}") if unproven else []
        if not answered:
            return due, n
        chosen = unproven[: max(0, share)]
        return chosen + answered, share // max(1, len(chosen))

    def _longest_due(self, job_id: int, n: int, only: str = "") -> list[sqlite3.Row]:
        return self._db.execute(
            "SELECT r.host AS id, r.taken, r.answered, r.failing_since, r.failures, h.name, h.in_flight, h.paused, "
            f"{CLOCKS} "
            f"WHERE r.job = ? AND r.at <= ? {only} ORDER BY r.at LIMIT ?",
            (job_id, self._until, n),
        ).fetchall()

    def _of_host(self, job: sqlite3.Row, host: sqlite3.Row, quota: int, permits: Permits) -> list[Lease]:
        """Returns the leases taken from the host. They use up the permits."""
        here = None if job["pages_per_host"] is None else max(0, job["pages_per_host"] - host["taken"])
        if is_unreachable(host, self._now):
            most = min(quota, UNREACHABLE_BATCH)
            pending = self._pop(job, host, most, permits.with_most_pages(here))
            if not pending:
                return self._check_again(job, host, self._next_check(job, host, here, permits))
            return self._give(job, host, pending, permits, gap_s=0.0, start_at=self._now, unreachable=True)
        gap_s = host_gap(job, host, self._now)
        start_at = max(self._now, start_of(host, self._site_clock(host), gap_s))
        room = terms_at(job, host["name"])[1] - host["in_flight"]
        if host["paused"] or room <= 0:
            return self._check_again(job, host, PARKED)
        if start_at > self._until:
            return self._check_again(job, host, start_at)
        starts = quota if gap_s == 0 else int((self._until - start_at) / gap_s) + 1
        most = min(quota, room, starts)
        pending = self._pop(job, host, most, permits.with_most_pages(here))
        if not pending:
            return self._check_again(job, host, self._next_check(job, host, here, permits))
        next_at = start_at + len(pending) * gap_s
        self._plan(host, len(pending), next_at, gap_s)
        self._db.execute(
            "UPDATE ready SET at = ?, next_at = ? WHERE job = ? AND host = ?",
            (PARKED if len(pending) == room else next_at, next_at, job["id"], host["id"]),
        )
        return self._give(job, host, pending, permits, gap_s, start_at, unreachable=False)

    def _pop(self, job: sqlite3.Row, host: sqlite3.Row, n: int, permits: Permits) -> list[Pending]:
        room = self._browsers if self._renders and permits.browser else None
        return self._queue.pop(job["id"], host["id"], n, permits, room, self._rendered_first)

    def _next_check(self, job: sqlite3.Row, host: sqlite3.Row, here: int | None, permits: Permits) -> float | None:
        """Of a host that gave nothing."""
        if self._queue.is_empty(job["id"], host["id"]):
            return None
        # The permits of pages are used up at all hosts: one that returns anywhere may be for this one.
        return self._now if permits.pages == 0 and here != 0 else CAPPED

    def _site_clock(self, host: sqlite3.Row) -> StartClock:
        return self._sites.get(host["site"]) or site_clock(host)

    def _plan(self, host: sqlite3.Row, n: int, next_at: float, gap_s: float) -> None:
        clock = StartClock(host["next_at"], host["gap_s"]).planned(next_at, gap_s)
        self._db.execute(
            "UPDATE host SET next_at = ?, gap_s = ?, in_flight = in_flight + ? WHERE id = ?", (*clock, n, host["id"])
        )
        site = self._sites[host["site"]] = self._site_clock(host).planned(next_at, gap_s)
        self._db.execute("UPDATE site SET next_at = ?, gap_s = ? WHERE id = ?", (*site, host["site"]))

    def _give(
        self,
        job: sqlite3.Row,
        host: sqlite3.Row,
        pending: list[Pending],
        permits: Permits,
        gap_s: float,
        start_at: float,
        unreachable: bool,
    ) -> list[Lease]:
        fresh = Counter(each.band for each in pending if not each.held)
        self._browsers -= sum(each.band >= RENDERED for each in pending)
        for band, n in fresh.items():
            permits.take(band, n)
        self._spent += fresh
        if pages := fresh.total() - fresh[ASSETS]:
            self._db.execute(
                "UPDATE ready SET taken = taken + ? WHERE job = ? AND host = ?",
                (pages, job["id"], host["id"]),
            )
        starts = [start_at + place * gap_s for place in range(len(pending))]
        leases = [
            self._lease(job, host, each, start - self._now, gap_s, unreachable)
            for each, start in zip(pending, starts, strict=True)
        ]
        terms = (job["id"], host["id"], gap_s, not unreachable, job["edition"], self._caller)
        rows = [
            (lease.token, start + self._lease_s, start, *terms, *each.kept())
            for lease, each, start in zip(leases, pending, starts, strict=True)
        ]
        self._db.executemany(
            "INSERT INTO lease(token, deadline, start_at, job, host, gap_s, slot, edition, caller, band, attempt, "
            "crashes, trail, line) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
        return leases

    def _lease(
        self, job: sqlite3.Row, host: sqlite3.Row, pending: Pending, wait_s: float, gap_s: float, unreachable: bool
    ) -> Lease:
        self._token = max(self._token + 1, int(self._now * 1e6))
        return Lease(
            token=self._token,
            job=job["name"],
            target=target_of(pending.line, host["name"]),
            trail=trail_of(pending.trail),
            attempt=pending.attempt,
            crashes=pending.crashes,
            wait_s=wait_s,
            gap_s=gap_s,
            unreachable=unreachable,
            edition=job["edition"],
            needs_browser=pending.band >= RENDERED,
        )

    def _check_again(self, job: sqlite3.Row, host: sqlite3.Row, at: float | None) -> list[Lease]:
        self._db.execute("UPDATE ready SET at = ? WHERE job = ? AND host = ?", (at, job["id"], host["id"]))
        return []

    def _promote_due(self, job_id: int) -> None:
        due = self._db.execute(
            "SELECT seq, host, band, attempt, crashes, trail, line FROM later WHERE job = ? AND at <= ? "
            "ORDER BY at DESC",
            (job_id, self._now),
        ).fetchall()
        for row in due:
            kept = row["attempt"], row["crashes"]
            pending = Pending(row["band"], row["trail"], row["line"], *kept, held=False)
            self._queue.return_to_queue(job_id, row["host"], pending, self._now)
            self._db.execute("DELETE FROM later WHERE seq = ?", (row["seq"],))


def leasable_jobs(db: sqlite3.Connection, now: float, lanes: list[int], only: Sequence[str]) -> list[sqlite3.Row]:
    """Active jobs that have something queued and are not stopped by a limit, in the order they are served.

    Only jobs of these names, if there are any; otherwise those without workers of their own.
    """
    marks = ",".join("?" * len(lanes))
    named = f"AND name IN ({','.join('?' * len(only))}) " if only else "AND NOT own_workers "
    return db.execute(
        "SELECT id, name, lane, priority, pages_max, permits, assets_max, asset_permits, rendered "
        f"FROM job WHERE state = 'active' AND queued > 0 AND lane IN ({marks}) "
        "AND (stop_at IS NULL OR stop_at > ?) AND (bytes_max IS NULL OR bytes < bytes_max) "
        "AND (cost_max IS NULL OR cost < cost_max) "
        "AND (pages_max IS NULL OR permits < pages_max "
        "     OR EXISTS(SELECT 1 FROM queue WHERE queue.job = job.id AND held) "
        "     OR (assets_max IS NULL OR asset_permits < assets_max) "
        "         AND (EXISTS(SELECT 1 FROM queue WHERE queue.job = job.id AND band < 0) "
        "              OR EXISTS(SELECT 1 FROM later WHERE later.job = job.id AND band < 0))) "
        f"{named}ORDER BY lane, priority DESC, turn, id",
        (*lanes, now, *only),
    ).fetchall()


def permits_of(job: sqlite3.Row, browser: bool = True) -> Permits:
    """`browser`: whether requests that need one may be leased too."""
    limits = (job["pages_max"], job["permits"]), (job["assets_max"], job["asset_permits"])
    pages, assets = (None if most is None else max(0, most - taken) for most, taken in limits)
    return Permits(pages, assets, browser)


def unproven_share(given: int, n: int) -> int:
    """How many of a job's next n leases go to unproven hosts, after `given` leases: every fourth, whatever n is."""
    return (given + n) // UNPROVEN_ONE_IN - given // UNPROVEN_ONE_IN


def terms_at(job: sqlite3.Row, host: str) -> tuple[float, int]:
    """The job's gap at a host, and how many requests it may have in flight there."""
    own = own_terms(job["hosts"], host) if job["hosts"] else None
    return own or (job["gap_s"], job["per_host"])


def own_terms(hosts: str, host: str) -> tuple[float, int] | None:
    """`hosts`: the column of the job."""
    known = _parsed_terms(hosts)
    return known.get(host) or known.get(without_port(host))


@lru_cache(16)
def _parsed_terms(hosts: str) -> dict[str, tuple[float, int]]:
    return {host: (gap_s, per_host) for host, gap_s, per_host in json.loads(hosts or "[]")}


def host_gap(job: sqlite3.Row, host: sqlite3.Row, now: float) -> float:
    gap_s, _ = terms_at(job, host["name"])
    if host["rate"] is not None:
        gap_s = 1 / host["rate"] if host["rate"] else 0.0
    slowdown = slowdown_at(now, host["slowdown"], host["learnt_at"])
    return gap_of(gap_s, slowdown, host["crawl_delay_s"] if job["robots"] else 0.0)


def site_clock(host: sqlite3.Row) -> StartClock:
    return StartClock(host["site_next_at"], host["site_gap_s"])


def start_of(host: sqlite3.Row, site: StartClock, gap_s: float) -> float:
    clock = StartClock(host["next_at"], host["gap_s"])
    start_at: float = max(
        host["own_at"], host["floor_at"], host["block_until"], clock.follows(gap_s), site.follows(gap_s)
    )
    return start_at


def is_unreachable(host: sqlite3.Row, now: float) -> bool:
    if host["answered"] or host["failures"] < UNREACHABLE_FAILURES:
        return False
    return bool(now - host["failing_since"] >= UNREACHABLE_AFTER_S)


def shift_clocks(db: sqlite3.Connection, back_s: float) -> None:
    """Corrects all times after the machine's clock was set back; else every host would wait until it catches up."""
    db.execute("UPDATE token SET leased_at = leased_at - ?", (back_s,))
    db.execute(
        "UPDATE host SET next_at = next_at - ?1, floor_at = floor_at - ?1, block_until = block_until - ?1", (back_s,)
    )
    db.execute("UPDATE site SET next_at = next_at - ?", (back_s,))
    db.execute("UPDATE ready SET next_at = next_at - ?", (back_s,))
    db.execute("UPDATE ready SET at = at - ?, failing_since = failing_since - ? WHERE at < ?", (back_s, back_s, PARKED))
    db.execute("UPDATE later SET at = at - ?", (back_s,))
    db.execute("UPDATE lease SET deadline = deadline - ?1, start_at = start_at - ?1", (back_s,))
    db.execute("UPDATE job SET stop_at = stop_at - ?1, paused_at = paused_at - ?1", (back_s,))
