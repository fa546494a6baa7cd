"""The frontier in one SQLite file, for crawls in one process each, which other terminals can watch and steer.

Every verb is one `BEGIN IMMEDIATE` transaction, so a kill at any moment leaves all of its changes or none.
Calls take some tens of microseconds, so they run on the event loop itself.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.errors import StaleCall
from shoal.frontier.adaptive_delay import GAP_MARGIN
from shoal.frontier.contract import ALL_LANES, HORIZON_S, LEASE_S, Call, Ended, Offered, Terms
from shoal.frontier.serialize import target_of, trail_of
from shoal.frontier.sqlite.inspection import SqliteInspection
from shoal.frontier.sqlite.lease_outcomes import LeaseOutcomes, expired, wake
from shoal.frontier.sqlite.leasing import Leasing, own_terms
from shoal.frontier.sqlite.offering import Offering
from shoal.frontier.sqlite.pending_rows import CAPPED, PARKED, RENDERED, band_of
from shoal.frontier.sqlite.schema import open_database, unusable
from shoal.frontier.sqlite.sites import site_id
from shoal.frontier.validation import (
    check_completions,
    check_landings,
    check_rate,
    check_seconds,
    check_terms,
)
from shoal.model import Completion, Landing, Lane, Lease, Offer, Target, Trail
from shoal.urls import domain_of

HOST_IDS_REMEMBERED = 50_000
CRAWL_DELAY_FRESH_S = 86_000.0


class SqliteFrontier(SqliteInspection):
    def __init__(self, path: Path, clock: Callable[[], float] = time.time, lease_s: float = LEASE_S) -> None:
        super().__init__(open_database(path), clock)
        self.lease_s = lease_s
        self._path = path
        self._job_ids: dict[str, int] = {}
        self._host_ids: dict[str, int] = {}

    def close(self) -> None:
        self._db.close()

    async def open_job(self, job: str, terms: Terms, *, lost: bool = False) -> None:
        with self._transaction():
            self._open(job, terms, "lost" if lost else "active")

    def _open(self, job: str, terms: Terms, state: str = "active") -> None:
        check_terms(terms)
        lane = ALL_LANES.index(terms.lane)
        row = (lane, terms.priority, terms.gap_s, terms.per_host, terms.robots, terms.own_workers, terms.browser)
        limits = (terms.pages, terms.pages_per_host, terms.bytes, terms.stop_at, terms.assets, terms.cost, terms.spent)
        hosts = json.dumps(terms.hosts) if terms.hosts else ""
        self._quicken(job, terms.gap_s, hosts)
        self._db.execute(
            "INSERT INTO job(name, state, lane, priority, gap_s, per_host, robots, own_workers, browser, pages_max, "
            "pages_per_host, bytes_max, stop_at, assets_max, cost_max, cost, hosts, edition) "
            "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT(name) DO UPDATE SET edition = edition + 1, "
            "state = CASE excluded.state WHEN 'lost' THEN job.state ELSE 'active' END, "
            "lane = excluded.lane, priority = excluded.priority, gap_s = excluded.gap_s, "
            "per_host = excluded.per_host, robots = excluded.robots, own_workers = excluded.own_workers, "
            "browser = excluded.browser, pages_max = excluded.pages_max, "
            "pages_per_host = excluded.pages_per_host, bytes_max = excluded.bytes_max, stop_at = excluded.stop_at, "
            "assets_max = excluded.assets_max, cost_max = excluded.cost_max, cost = max(job.cost, excluded.cost), "
            "hosts = excluded.hosts",
            (job, state, *row, *limits, hosts, int(self._clock())),
        )
        # A new try of the job gives silent hosts their full time again, and checks capped hosts under the new limits.
        self._db.execute(
            "UPDATE ready SET failing_since = NULL, failures = 0, at = CASE at WHEN ? THEN ? ELSE at END WHERE job = ?",
            (CAPPED, self._clock(), self._job_id(job)),
        )

    def _quicken(self, job: str, gap_s: float, hosts: str) -> None:
        """A job that gets a shorter gap waits no longer than that from now on, also at hosts where a later start was
        planned."""
        known = self._db.execute("SELECT id, gap_s, hosts FROM job WHERE name = ?", (job,)).fetchone()
        if known is None or (known["gap_s"] <= gap_s and known["hosts"] == hosts):
            return
        now = self._clock()
        if not (hosts or known["hosts"]):
            self._plan_sooner(known["id"], now + gap_s)
            return
        query = "SELECT h.id, h.name FROM ready r JOIN host h ON h.id = r.host WHERE r.job = ?"
        for host in self._db.execute(query, (known["id"],)).fetchall():
            own = own_terms(hosts, host["name"])
            self._plan_sooner(known["id"], now + (own[0] if own else gap_s), host["id"])

    def _plan_sooner(self, job: int, next_at: float, host: int | None = None) -> None:
        """At one host, or at all of the job."""
        self._db.execute(
            "UPDATE ready SET next_at = min(next_at, :next), "
            "at = CASE WHEN at < :parked THEN min(at, :next) ELSE at END "
            f"WHERE job = :job {'' if host is None else 'AND host = :host'}",
            {"next": next_at, "parked": PARKED, "job": job, "host": host},
        )

    async def change(self, job: str, terms: Terms) -> None:
        with self._transaction():
            known = self._db.execute("SELECT state FROM job WHERE id = ?", (self._job_id(job),)).fetchone()
            self._open(job, terms)
            self._db.execute(
                "UPDATE job SET state = ?, paused_at = ? WHERE name = ?", (known["state"], self._clock(), job)
            )

    async def touch(self, job: str) -> None:
        with self._transaction():
            self._db.execute("UPDATE job SET edition = edition + 1 WHERE id = ?", (self._job_id(job),))

    async def offer(self, call: Call, offers: Sequence[Offer]) -> Offered:
        return Offered(self._once(call, "offer", lambda: self._take(offers)))

    def _take(self, offers: Sequence[Offer]) -> int:
        by_job: dict[str, list[Offer]] = {}
        for offer in offers:
            by_job.setdefault(offer.job, []).append(offer)
        offering = Offering(self._db, self._seen, self._queue, self._host_id, self._clock())
        return sum(offering.take(self._job_id(job), theirs) for job, theirs in by_job.items())

    async def lease(
        self,
        call: Call,
        n: int,
        lanes: Sequence[Lane] = ALL_LANES,
        horizon_s: float = HORIZON_S,
        job: str | None = None,
        browsers: int = 0,
    ) -> list[Lease]:
        check_seconds("horizon_s", horizon_s)
        leases: list[Lease] = []

        def take() -> list[int]:
            now = self._clock()
            leasing = Leasing(self._db, self._queue, now, horizon_s, self.lease_s, call.caller, self._named(job))
            leases.extend(leasing.lease(n, lanes, browsers))
            return [lease.token for lease in leases]

        tokens = self._once(call, "lease", take)
        return leases or self._leases(tokens)

    def _leases(self, tokens: list[int]) -> list[Lease]:
        """Returns the leases of an earlier call, for a repeated call."""
        marks = ",".join("?" * len(tokens))
        rows = self._db.execute(
            "SELECT l.*, h.name AS host_name, j.name AS job_name FROM lease l JOIN host h ON h.id = l.host "
            f"JOIN job j ON j.id = l.job WHERE token IN ({marks}) ORDER BY token",
            tokens,
        )
        now = self._clock()
        return [
            Lease(
                token=row["token"],
                job=row["job_name"],
                target=target_of(row["line"], row["host_name"]),
                trail=trail_of(row["trail"]),
                attempt=row["attempt"],
                crashes=row["crashes"],
                wait_s=max(0.0, row["start_at"] - now),
                gap_s=row["gap_s"],
                unreachable=not row["slot"],
                edition=row["edition"],
                needs_browser=row["band"] >= RENDERED,
            )
            for row in rows
        ]

    async def landed(self, call: Call, landings: Sequence[Landing]) -> None:
        check_landings(landings)

        def land() -> None:
            LeaseOutcomes(self._db, self._queue, self._clock()).land(landings)

        self._once(call, "landed", land)

    async def extend(self, call: Call, tokens: Sequence[int]) -> list[int]:
        def prolong() -> list[int]:
            deadline = self._clock() + self.lease_s
            update = "UPDATE lease SET deadline = max(deadline, ?) WHERE token = ?"
            return [token for token in tokens if self._db.execute(update, (deadline, token)).rowcount]

        return list(self._once(call, "extend", prolong))

    async def release(
        self, call: Call, tokens: Sequence[int], wait_s: float = 0.0, needs_browser: bool = False
    ) -> None:
        check_seconds("wait_s", wait_s)

        def give_back() -> None:
            settling = LeaseOutcomes(self._db, self._queue, self._clock())
            settling.release(tokens, wait_s, needs_browser)
            settling.write_counts()

        self._once(call, "release", give_back)

    async def complete(self, call: Call, completions: Sequence[Completion]) -> list[bool]:
        check_completions(completions)
        return list(self._once(call, "complete", lambda: self._complete(completions)))

    def _complete(self, completions: Sequence[Completion]) -> list[bool]:
        outcomes = LeaseOutcomes(self._db, self._queue, self._clock())
        accepted = outcomes.complete(completions)
        outcomes.write_counts()
        return [completion.token in accepted for completion in completions]

    async def settle(
        self, call: Call, offers: Sequence[Offer], landings: Sequence[Landing], completions: Sequence[Completion]
    ) -> list[bool]:
        check_landings(landings)
        check_completions(completions)

        def settle() -> list[bool]:
            if offers:
                self._take(offers)
            if landings:
                LeaseOutcomes(self._db, self._queue, self._clock()).land(landings)
            return self._complete(completions)

        return list(self._once(call, "settle", settle))

    async def reap(self, blamed: Sequence[int] = (), gone: Sequence[str] = (), *, all_leases: bool = False) -> int:
        now = self._clock()
        with self._transaction():
            tokens = expired(self._db, PARKED if all_leases else now, gone)
            settling = LeaseOutcomes(self._db, self._queue, now)
            settling.expire(tokens, blamed)
            settling.write_counts()
            # Nobody is alive to repeat their calls.
            if all_leases:
                self._db.execute("DELETE FROM call")
            for caller in gone:
                self._db.execute("DELETE FROM call WHERE caller = ?", (caller,))
        return len(tokens)

    def lease_only_from(self, jobs: Sequence[str]) -> None:
        """Leases from these jobs only, from now on and in this process. Other processes work on the others."""
        self._only = tuple(jobs)

    def lease_holders(self) -> list[str]:
        """The callers that hold leases."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT caller FROM lease")]

    async def pause(self, job: str) -> None:
        with self._transaction():
            self._db.execute(
                "UPDATE job SET state = 'paused', paused_at = ? WHERE id = ? AND state = 'active'",
                (self._clock(), self._job_id(job)),
            )

    async def resume(self, job: str) -> None:
        with self._transaction():
            self._db.execute(
                "UPDATE job SET state = 'active', stop_at = stop_at + ? - paused_at WHERE id = ? AND state = 'paused'",
                (self._clock(), self._job_id(job)),
            )

    async def cancel(self, job: str) -> None:
        with self._transaction():
            self._db.execute("UPDATE job SET state = 'cancelled' WHERE id = ?", (self._job_id(job),))

    async def forget(self, job: str) -> None:
        with self._transaction():
            job_id = self._job_id(job)
            self._forget(job_id)

    async def erase(self, job: str) -> None:
        with self._transaction():
            job_id = self._job_id(job)
            self._forget(job_id)
            self._db.execute("DELETE FROM dropped WHERE job = ?", (job_id,))
            self._db.execute("DELETE FROM job WHERE id = ?", (job_id,))
            del self._job_ids[job]

    def _forget(self, job_id: int) -> None:
        self._seen.drop_job(job_id)
        # Nobody will report landings for the leases of this job.
        self._db.execute(
            "UPDATE host SET in_flight = in_flight - (SELECT count(*) FROM lease WHERE lease.host = host.id "
            "AND job = :job AND slot AND NOT landed) WHERE id IN (SELECT host FROM lease WHERE job = :job)",
            {"job": job_id},
        )
        for table in ("queue", "later", "ready", "lease"):
            self._db.execute(f"DELETE FROM {table} WHERE job = ?", (job_id,))

    async def revive(self, call: Call, job: str, requests: Sequence[tuple[Target, Trail]]) -> int:
        return int(self._once(call, "revive", lambda: self._revive(job, requests)))

    def _revive(self, job: str, requests: Sequence[tuple[Target, Trail]]) -> int:
        row = self._job_row(job)
        job_id = row["id"]
        hosts = {target.host for target, _ in requests}
        pending = {
            target_of(line, host).fingerprint
            for host in hosts
            for _, lines in self.pending_lines(job_id, host)
            for line in lines
        }
        again = [(target, trail) for target, trail in requests if target.fingerprint not in pending]
        rendered = 0
        for target, trail in again:
            host = self._host_id(target.host)
            band = band_of(trail, bool(row["browser"]))
            rendered += band >= RENDERED
            self._queue.append(job_id, host, [target], trail, band)
            self._queue.look(job_id, host, self._clock())
            self._queue.uncap(job_id, host, self._clock())
        counts = "dead = dead - ?1, queued = queued + ?1, rendered = rendered + ?2"
        self._db.execute(f"UPDATE job SET {counts} WHERE id = ?3", (len(again), rendered, job_id))
        return len(again)

    async def recall(self, call: Call, job: str, ended: Sequence[Ended]) -> int:
        return int(self._once(call, "recall", lambda: self._recall(job, ended)))

    def _recall(self, job: str, ended: Sequence[Ended]) -> int:
        job_id = self._job_id(job)
        unknown = self._seen.unknown(job_id, [each.fingerprint for each in ended])
        self._seen.add(job_id, unknown)
        by_fingerprint = {each.fingerprint: each for each in ended}
        by_host: dict[str, list[Ended]] = {}
        for fingerprint in unknown:
            each = by_fingerprint[fingerprint]
            by_host.setdefault(each.host, []).append(each)
        settling = LeaseOutcomes(self._db, self._queue, self._clock())
        for host, ended_there in by_host.items():
            settling.recall(job_id, self._host_id(host), ended_there)
        settling.write_counts()
        return len(unknown)

    async def record_robots_answer(self, job: str, host: str, crawl_delay_s: float) -> None:
        check_seconds("crawl_delay_s", crawl_delay_s)
        now = self._clock()
        with self._transaction():
            job_id, host_id = self._job_id(job), self._host_id(host)
            self._db.execute("UPDATE ready SET answered = 1 WHERE job = ? AND host = ?", (job_id, host_id))
            # Several origins may share a host's clock: the slowest crawl-delay of the last day applies.
            self._db.execute(
                "UPDATE host SET "
                "crawl_delay_s = max(?1, CASE WHEN crawl_delay_at > ?2 - ?3 THEN crawl_delay_s ELSE 0 END), "
                "crawl_delay_at = ?2, floor_at = max(floor_at, ?2 + ?1 * ?4) WHERE id = ?5",
                (crawl_delay_s, now, CRAWL_DELAY_FRESH_S, GAP_MARGIN, host_id),
            )

    async def override(self, host: str, *, rate: float | None, paused: bool) -> None:
        check_rate(rate)
        with self._transaction():
            host_id = self._host_id(host)
            self._db.execute("UPDATE host SET rate = ?, paused = ? WHERE id = ?", (rate, paused, host_id))
            if not paused:
                wake(self._db, host_id, self._clock())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # Whatever it was, what is remembered must be what the file has after the rollback.
                self._db.rollback()
                self._job_ids.clear()
                self._host_ids.clear()
                self._seen.reload()
                raise
        except sqlite3.DatabaseError as error:
            raise unusable(self._path, error) from error

    def _once(self, call: Call, verb: str, act: Callable[[], Any]) -> Any:
        with self._transaction():
            last = self._db.execute(
                "SELECT seq, reply FROM call WHERE caller = ? AND verb = ?", (call.caller, verb)
            ).fetchone()
            if last is not None and last["seq"] >= call.seq:
                if last["seq"] > call.seq:
                    raise StaleCall(f"{verb} {call.seq} of {call.caller} came after its {verb} {last['seq']}")
                return json.loads(last["reply"])
            reply = act()
            self._db.execute(
                "INSERT OR REPLACE INTO call VALUES(?, ?, ?, ?)",
                (call.caller, verb, call.seq, json.dumps(reply)),
            )
            return reply

    def _job_id(self, job: str) -> int:
        if job not in self._job_ids:
            self._job_ids[job] = self._job_row(job)["id"]
        return self._job_ids[job]

    def _host_id(self, host: str) -> int:
        known = self._host_ids.get(host)
        if known is not None:
            return known
        site = site_id(self._db, domain_of(host))
        self._db.execute("INSERT OR IGNORE INTO host(name, site) VALUES(?, ?)", (host, site))
        (row_id,) = self._db.execute("SELECT id FROM host WHERE name = ?", (host,)).fetchone()
        if len(self._host_ids) >= HOST_IDS_REMEMBERED:
            self._host_ids.clear()
        self._host_ids[host] = row_id
        return int(row_id)
