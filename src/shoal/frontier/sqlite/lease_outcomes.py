"""Ends leases (landed, completed, released or expired) and returns their slots, permits and requests."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from operator import attrgetter

from shoal.frontier.adaptive_delay import Pace, learn
from shoal.frontier.contract import Ended
from shoal.frontier.politeness_clock import SAME_START_S, StartClock
from shoal.frontier.serialize import trail_text
from shoal.frontier.sqlite.pending_rows import (
    ASSETS,
    CAPPED,
    PARKED,
    RENDERED,
    Pending,
    Queue,
    band_for_browser,
    band_of,
)
from shoal.frontier.sqlite.sites import place_host
from shoal.model import Completion, Landing, Outcome

PACE_COLUMNS = [field.name for field in dataclasses.fields(Pace)]
COUNTED = {
    Outcome.REDIRECT: "redirects",
    Outcome.RETRY: "queued",
    Outcome.DEAD: "dead",
}
ENDED_AT_ONCE = 1_000


class LeaseOutcomes:
    """One call that ends leases, or one part of a call."""

    def __init__(self, db: sqlite3.Connection, queue: Queue, now: float) -> None:
        self._db = db
        self._queue = queue
        self._now = now
        self._counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._clocks: dict[tuple[str, int], StartClock] = {}
        """(Table, id) -> the clock of a host or a site as landings have moved it. Written once for all of them."""
        self._own_starts: dict[tuple[int, int], float] = {}
        """(Job, host) -> the earliest next start by landings. Written with the clocks."""

    def land(self, landings: Sequence[Landing]) -> None:
        """Handles landings together: a host with many of them is read and written once."""
        rows = self._flying([landing.token for landing in landings])
        paces: dict[int, Pace] = {}
        answered: set[tuple[int, int]] = set()
        for landing in landings:
            row = rows.get(landing.token)
            if row is None:
                continue
            pace = paces.get(row["host"])
            if pace is None:
                pace = paces[row["host"]] = Pace(*(row[name] for name in PACE_COLUMNS))
            if landing.answered or row["answered"]:
                answered.add((row["job"], row["host"]))
            learn(pace, landing, self._now, may_block=(row["job"], row["host"]) in answered)
            if (landing.late_s or landing.charged) and row["slot"]:
                self._plan_after(row, landing)
            if not row["answered"]:
                self._note_answer(row, landing)
            if landing.address and landing.address != row["home"]:
                # It moves the clock of a site.
                self._write_clocks()
                place_host(self._db, row["host"], row["name"], landing.address)
        self._write_clocks()
        self._write_paces(rows.values(), paces)

    def _plan_after(self, row: sqlite3.Row, landing: Landing) -> None:
        """Moves the clocks after a request that began late, or that is charged for several."""
        gap_s, began_at = row["gap_s"], min(row["start_at"] + landing.late_s, self._now - landing.latency_s)
        began_at += landing.charged * gap_s
        for clock in (("host", row["host"]), ("site", row["site"])):
            self._clocks[clock] = (self._clocks.get(clock) or self._clock(*clock)).after(began_at, gap_s)
        own = (row["job"], row["host"])
        self._own_starts[own] = max(self._own_starts.get(own, 0.0), began_at + gap_s)

    def _clock(self, table: str, id: int) -> StartClock:
        return StartClock(*self._db.execute(f"SELECT next_at, gap_s FROM {table} WHERE id = ?", (id,)).fetchone())

    def _write_clocks(self) -> None:
        for (table, id), clock in self._clocks.items():
            self._db.execute(f"UPDATE {table} SET next_at = ?, gap_s = ? WHERE id = ?", (*clock, id))
        for (job, host), next_at in self._own_starts.items():
            self._db.execute(
                "UPDATE ready SET next_at = max(next_at, ?) WHERE job = ? AND host = ?", (next_at, job, host)
            )
        self._clocks.clear()
        self._own_starts.clear()

    def _flying(self, tokens: list[int]) -> dict[int, sqlite3.Row]:
        marks = ",".join("?" * len(tokens))
        rows = self._db.execute(
            "SELECT l.token, l.job, l.host, l.start_at, l.gap_s, l.slot, r.answered, h.name, h.floor_at, h.paused, "
            f"h.site, s.home, {', '.join('h.' + name for name in PACE_COLUMNS)} "
            "FROM lease l JOIN host h ON h.id = l.host JOIN site s ON s.id = h.site "
            "JOIN ready r ON r.job = l.job AND r.host = l.host "
            f"WHERE l.token IN ({marks}) AND NOT l.landed",
            tokens,
        ).fetchall()
        self._db.execute(f"UPDATE lease SET landed = 1 WHERE token IN ({marks})", tokens)
        return {row["token"]: row for row in rows}

    def _write_paces(self, rows: Collection[sqlite3.Row], paces: dict[int, Pace]) -> None:
        freed = Counter(row["host"] for row in rows)
        for row in {row["host"]: row for row in rows}.values():
            host, pace = row["host"], paces[row["host"]]
            self._db.execute(
                f"UPDATE host SET in_flight = in_flight - ?, {', '.join(name + ' = ?' for name in PACE_COLUMNS)} "
                "WHERE id = ?",
                (freed[host], *(getattr(pace, name) for name in PACE_COLUMNS), host),
            )
            if not row["paused"]:
                wake(self._db, host, max(self._now, row["floor_at"], pace.block_until))

    def _note_answer(self, row: sqlite3.Row, landing: Landing) -> None:
        """A host that has answered a job once is never unreachable for it. The first failure starts the count."""
        if landing.answered:
            self._db.execute("UPDATE ready SET answered = 1 WHERE job = ? AND host = ?", (row["job"], row["host"]))
        else:
            self._db.execute(
                "UPDATE ready SET failures = failures + 1, failing_since = coalesce(failing_since, ?) "
                "WHERE job = ? AND host = ?",
                (self._now - landing.latency_s, row["job"], row["host"]),
            )

    def complete(self, completions: Sequence[Completion]) -> set[int]:
        """Returns the tokens that were still held, and ends their leases."""
        leases = self._end([completion.token for completion in completions])
        # Newest first: of several requests that were not started, each returns its start to the one before it.
        for completion in sorted(completions, key=attrgetter("token"), reverse=True):
            if completion.token in leases:
                self._complete(leases[completion.token], completion)
        return set(leases)

    def _complete(self, lease: sqlite3.Row, completion: Completion) -> None:
        if not completion.started:
            self._return_start(lease)
        self._counts[lease["job"]]["leased"] -= 1
        self._counts[lease["job"]]["cost"] += completion.cost
        self._count(lease["job"], completion, is_asset=lease["band"] == ASSETS)
        if completion.outcome is not Outcome.DONE:
            self._return_permit(lease)
        if completion.outcome is Outcome.RETRY:
            self._retry_later(lease, completion)

    def _count(self, job: int, end: Completion | Ended, is_asset: bool) -> None:
        counts = self._counts[job]
        if end.outcome is Outcome.DONE:
            counts["assets" if is_asset else "pages"] += 1
            counts["bytes"] += end.bytes
        elif end.outcome in COUNTED:
            counts[COUNTED[end.outcome]] += 1
        elif end.outcome is Outcome.DROP:
            self._db.execute(
                "INSERT INTO dropped VALUES(?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1", (job, end.reason)
            )

    def recall(self, job: int, host: int, ended: Sequence[Ended]) -> None:
        """Counts ended requests of one host that the job had not seen. Pages and assets keep the permits they took."""
        done = [each for each in ended if each.outcome is Outcome.DONE]
        assets = sum(each.is_asset for each in done)
        pages = len(done) - assets
        answered = any(each.outcome in (Outcome.DONE, Outcome.REDIRECT) for each in ended)
        self._db.execute(
            "INSERT INTO ready(job, host, taken, answered) VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE "
            "SET taken = taken + excluded.taken, answered = max(answered, excluded.answered)",
            (job, host, pages, answered),
        )
        self._counts[job].update(found=len(ended), permits=pages, asset_permits=assets)
        for each in ended:
            self._count(job, each, each.is_asset)

    def release(self, tokens: Sequence[int], wait_s: float, needs_browser: bool) -> None:
        leases = self._end(tokens)
        # Newest first, each to the head, so that they end up in the order they were leased.
        for token in sorted(leases, reverse=True):
            self._release(leases[token], wait_s, needs_browser)

    def _release(self, lease: sqlite3.Row, wait_s: float, needs_browser: bool) -> None:
        self._counts[lease["job"]].update(leased=-1, queued=1)
        self._return_start(lease)
        self._return_permit(lease)
        pending = _pending(lease, held=False)
        if needs_browser:
            pending = pending._replace(band=band_for_browser(pending.band))
        self._counts[lease["job"]]["rendered"] += pending.band >= RENDERED
        self._queue.return_to_queue(lease["job"], lease["host"], pending, self._now)
        if wait_s:
            self._db.execute(
                "UPDATE ready SET next_at = max(next_at, ?) WHERE job = ? AND host = ?",
                (self._now + wait_s, lease["job"], lease["host"]),
            )

    def expire(self, tokens: Sequence[int], blamed: Sequence[int]) -> None:
        """Returns requests whose holders are gone. They keep their permits: their pages may be stored already."""
        leases = self._end(tokens)
        for token in sorted(leases, reverse=True):
            lease = leases[token]
            self._counts[lease["job"]].update(leased=-1, queued=1)
            self._counts[lease["job"]]["rendered"] += lease["band"] >= RENDERED
            pending = _pending(lease, held=True)._replace(crashes=lease["crashes"] + blamed.count(token))
            self._queue.return_to_queue(lease["job"], lease["host"], pending, self._now)

    def write_counts(self) -> None:
        for job, counts in self._counts.items():
            changed = [name for name in counts if counts[name]]
            if changed:
                self._db.execute(
                    f"UPDATE job SET {', '.join(f'{name} = {name} + ?' for name in changed)} WHERE id = ?",
                    (*(counts[name] for name in changed), job),
                )

    def _end(self, tokens: Sequence[int]) -> dict[int, sqlite3.Row]:
        """Deletes the leases together: one at a time would cost three times as much."""
        ended: dict[int, sqlite3.Row] = {}
        for start in range(0, len(tokens), ENDED_AT_ONCE):
            part = tokens[start : start + ENDED_AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._db.execute(f"DELETE FROM lease WHERE token IN ({marks}) RETURNING *", part)
            ended |= {lease["token"]: lease for lease in rows.fetchall()}
        for lease in ended.values():
            if lease["slot"] and not lease["landed"]:
                self._db.execute("UPDATE host SET in_flight = in_flight - 1 WHERE id = ?", (lease["host"],))
                wake(self._db, lease["host"], self._now)
        return ended

    def _return_start(self, lease: sqlite3.Row) -> None:
        """Returns the start of a request that was never made, unless another was planned after it."""
        if not lease["slot"]:
            return
        start_at, host = lease["start_at"], lease["host"]
        start = {"at": start_at, "gap": lease["gap_s"], "host": host, "job": lease["job"]}
        is_planned_last = f"abs(next_at - :at - :gap) < {SAME_START_S}"
        # Clocks shared with other jobs: the last start is this lease's, or was returned by a later lease.
        is_last = f"{is_planned_last} AND (gap_s = 0 OR abs(gap_s - :gap) < {SAME_START_S})"
        plans = (
            f"UPDATE host SET next_at = :at, gap_s = 0 WHERE id = :host AND {is_last}",
            "UPDATE site SET next_at = :at, gap_s = 0 "
            f"WHERE id = (SELECT site FROM host WHERE id = :host) AND {is_last}",
        )
        went_back = sum(self._db.execute(plan, start).rowcount for plan in plans)
        own = f"UPDATE ready SET next_at = :at WHERE job = :job AND host = :host AND {is_planned_last}"
        self._db.execute(own, start)
        if went_back:
            self._db.execute(
                "UPDATE ready SET at = ?1 WHERE host = ?2 AND at > ?1 AND at < ?3", (start_at, host, PARKED)
            )

    def _return_permit(self, lease: sqlite3.Row) -> None:
        if lease["band"] == ASSETS:
            self._return_asset_permit(lease["job"])
            return
        self._counts[lease["job"]]["permits"] -= 1
        self._db.execute("UPDATE ready SET taken = taken - 1 WHERE job = ? AND host = ?", (lease["job"], lease["host"]))
        self._queue.uncap(lease["job"], lease["host"], self._now)

    def _return_asset_permit(self, job: int) -> None:
        self._counts[job]["asset_permits"] -= 1
        # It may be for any host where assets wait for one.
        self._db.execute(
            "UPDATE ready SET at = ?1 WHERE job = ?2 AND at = ?3 "
            "AND (SELECT asset_permits >= assets_max FROM job WHERE id = ?2) "
            "AND EXISTS(SELECT 1 FROM queue q WHERE q.job = ready.job AND q.host = ready.host AND q.band < 0)",
            (self._now, job, CAPPED),
        )

    def _retry_later(self, lease: sqlite3.Row, completion: Completion) -> None:
        trail, band = lease["trail"], lease["band"]
        if completion.trail is not None:
            (browser,) = self._db.execute("SELECT browser FROM job WHERE id = ?", (lease["job"],)).fetchone()
            trail, band = trail_text(completion.trail), band_of(completion.trail, bool(browser))
        # A new trail may give it another priority, but not take the browser from it.
        if completion.needs_browser or lease["band"] >= RENDERED:
            band = band_for_browser(band)
        self._counts[lease["job"]]["rendered"] += band >= RENDERED
        due_at, attempt = self._now + completion.delay_s, lease["attempt"] + completion.counted
        self._db.execute(
            "INSERT INTO later(at, job, host, band, attempt, crashes, trail, line) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (due_at, lease["job"], lease["host"], band, attempt, lease["crashes"], trail, lease["line"]),
        )


def _pending(lease: sqlite3.Row, held: bool) -> Pending:
    return Pending(lease["band"], lease["trail"], lease["line"], lease["attempt"], lease["crashes"], held)


def wake(db: sqlite3.Connection, host: int, at: float) -> None:
    """Lets every job that waits for a slot of this host check it again, none before its own next start."""
    db.execute("UPDATE ready SET at = max(?, next_at) WHERE host = ? AND at = ?", (at, host, PARKED))


def expired(db: sqlite3.Connection, now: float, gone: Sequence[str]) -> Sequence[int]:
    marks = ",".join("?" * len(gone))
    query = f"SELECT token FROM lease WHERE deadline <= ? OR caller IN ({marks})"
    return [row[0] for row in db.execute(query, (now, *gone))]
