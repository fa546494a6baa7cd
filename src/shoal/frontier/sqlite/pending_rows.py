"""Pending requests in rows of up to 64 lines, by (job, host, band): first in, first out. Returned ones go to the head.

`ready.at` is when to check a host for a job: a time, None while nothing is queued there, or PARKED or CAPPED, which are
times that never come.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from shoal.frontier.serialize import line_of, trail_of, trail_text
from shoal.model import Target, Trail

LINES_PER_ROW = 64
PARKED = 1e15
"""The host is full or paused. A landing or an operator wakes it."""
CAPPED = 2e15
"""The job has reached its page limit for the host. A returned permit wakes it."""


class Pending(NamedTuple):
    trail: str
    line: str
    attempt: int
    crashes: int
    held: bool
    """The request has kept the page permit of a lease that expired."""

    def kept(self) -> tuple[int, int, str, str]:
        """The fields that a lease keeps."""
        return self.attempt, self.crashes, self.trail, self.line


class Queue:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def append(self, job: int, host: int, targets: list[Target], trail: Trail) -> None:
        text = trail_text(trail)
        lines = [line_of(target) for target in targets]
        rows = (
            (job, host, band_of(trail), text, "\n".join(lines[start : start + LINES_PER_ROW]))
            for start in range(0, len(lines), LINES_PER_ROW)
        )
        self._db.executemany(
            "INSERT INTO queue(job, host, band, attempt, crashes, held, trail, lines) VALUES(?, ?, ?, 0, 0, 0, ?, ?)",
            rows,
        )

    def look(self, job: int, host: int, now: float) -> None:
        """Checks the host now, because something was queued, unless it has a time already or is parked."""
        self._db.execute(
            "INSERT INTO ready(job, host, at) VALUES(?, ?, ?) "
            "ON CONFLICT DO UPDATE SET at = excluded.at WHERE at IS NULL",
            (job, host, now),
        )

    def return_to_queue(self, job: int, host: int, pending: Pending, now: float) -> None:
        """Returns the request to the head of its band."""
        self._db.execute(
            "INSERT INTO queue(seq, job, host, band, attempt, crashes, held, trail, lines) "
            "SELECT min(coalesce(min(seq), 0), 0) - 1, ?, ?, ?, ?, ?, ?, ?, ? FROM queue",
            (job, host, band_of(trail_of(pending.trail)), *pending[2:], pending.trail, pending.line),
        )
        self.uncap(job, host, now)
        self.look(job, host, now)

    def uncap(self, job: int, host: int, now: float) -> None:
        self._db.execute("UPDATE ready SET at = ? WHERE job = ? AND host = ? AND at = ?", (now, job, host, CAPPED))

    def pop(self, job: int, host: int, n: int, permits: int | None) -> list[Pending]:
        """Takes up to n requests from the head; those without a permit only while `permits` lasts (None: no limit)."""
        popped: list[Pending] = []
        spent, gone = 0, []
        for row in self._heads(job, host, held_only=permits == 0):
            room = n - len(popped)
            if not row["held"] and permits is not None:
                room = min(room, permits - spent)
            if room <= 0:
                break
            lines = row["lines"].split("\n")[row["taken"] :]
            taken = lines[:room]
            popped += [Pending(row["trail"], line, row["attempt"], row["crashes"], bool(row["held"])) for line in taken]
            spent += 0 if row["held"] else len(taken)
            gone.append((row["seq"], row["taken"] + len(taken) if len(taken) < len(lines) else None))
        for seq, taken_now in gone:
            self._advance(seq, taken_now)
        return popped

    def lines(self, job: int, host: int) -> Iterator[str]:
        """Lines that are still queued for the host, oldest rows first."""
        for row in self._heads(job, host, held_only=False):
            yield from row["lines"].split("\n")[row["taken"] :]

    def head(self, job: int, most: int) -> Iterator[tuple[str, str, str]]:
        """Host, trail and line of up to `most` rows and their requests; hosts that may be fetched soonest first."""
        rows = self._db.execute(
            "SELECT h.name, q.trail, q.lines, q.taken FROM ready r JOIN host h ON h.id = r.host "
            "JOIN queue q ON q.job = r.job AND q.host = r.host WHERE r.job = ? ORDER BY r.at, q.band, q.seq LIMIT ?",
            (job, most),
        )
        for row in rows:
            for line in row["lines"].split("\n")[row["taken"] :]:
                yield row["name"], row["trail"], line

    def _heads(self, job: int, host: int, held_only: bool) -> sqlite3.Cursor:
        only = "AND held" if held_only else ""
        return self._db.execute(
            "SELECT seq, attempt, crashes, held, taken, trail, lines FROM queue "
            f"WHERE job = ? AND host = ? {only} ORDER BY band, seq",
            (job, host),
        )

    def _advance(self, seq: int, taken: int | None) -> None:
        if taken is None:
            self._db.execute("DELETE FROM queue WHERE seq = ?", (seq,))
        else:
            self._db.execute("UPDATE queue SET taken = ? WHERE seq = ?", (taken, seq))


def band_of(trail: Trail) -> int:
    """Band 0 is served before 1, and 1 before 2."""
    return 1 - (trail.priority > 0) + (trail.priority < 0)
