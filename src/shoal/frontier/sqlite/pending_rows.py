"""Pending requests in rows of up to 64 lines, by (job, host, band): first in, first out. Returned ones go to the head.

`ready.at` is when to check a host for a job: a time, None while nothing is queued there, or PARKED or CAPPED, which are
times that never come.

Assets have a band of their own, before the others. They take permits of their own, and none of the pages.

Requests that need a browser have bands of their own too: those of the plain ones and RENDERED.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from shoal.frontier.serialize import line_of, trail_text
from shoal.model import Target, Trail

LINES_PER_ROW = 64
PARKED = 1e15
"""The host is full or paused. A landing or an operator wakes it."""
CAPPED = 2e15
"""A limit of the job keeps everything there from being leased: that of pages of the host, or that of assets. A returned
permit wakes it."""
ASSETS = -1
"""The band of assets."""
RENDERED = 10
"""The first band of requests that need a browser."""
_IS_RENDERED, _IS_PLAIN = f"band >= {RENDERED}", f"band < {RENDERED}"


class Pending(NamedTuple):
    band: int
    trail: str
    line: str
    attempt: int
    crashes: int
    held: bool
    """The request has kept the permit of a lease that expired."""

    def kept(self) -> tuple[int, int, int, str, str]:
        """The fields that a lease keeps."""
        return self.band, self.attempt, self.crashes, self.trail, self.line


@dataclass(slots=True)
class Permits:
    """How many more pages and assets a job may lease; None: any number."""

    pages: int | None
    assets: int | None
    browser: bool = False
    """Whether requests that need a browser may be leased too."""

    def with_most_pages(self, most: int | None) -> Permits:
        pages = self.pages if most is None else most if self.pages is None else min(self.pages, most)
        return Permits(pages, self.assets, self.browser)

    def take(self, band: int, n: int) -> None:
        if band == ASSETS:
            self.assets = None if self.assets is None else self.assets - n
        else:
            self.pages = None if self.pages is None else self.pages - n

    def of(self, band: int) -> int | None:
        return self.assets if band == ASSETS else self.pages

    @property
    def rows(self) -> str:
        """A condition for the rows of `queue` that may be leased from."""
        if self.pages == 0:
            permitted = "held" if self.assets == 0 else "(held OR band < 0)"
        else:
            permitted = "(held OR band >= 0)" if self.assets == 0 else "TRUE"
        return permitted if self.browser else f"{permitted} AND {_IS_PLAIN}"


class Queue:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def append(self, job: int, host: int, targets: list[Target], trail: Trail, band: int) -> None:
        text = trail_text(trail)
        lines = [line_of(target) for target in targets]
        rows = (
            (job, host, band, text, "\n".join(lines[start : start + LINES_PER_ROW]))
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
            (job, host, pending.band, pending.attempt, pending.crashes, pending.held, pending.trail, pending.line),
        )
        self.uncap(job, host, now)
        self.look(job, host, now)

    def uncap(self, job: int, host: int, now: float) -> None:
        self._db.execute("UPDATE ready SET at = ? WHERE job = ? AND host = ? AND at = ?", (now, job, host, CAPPED))

    def pop(
        self, job: int, host: int, n: int, permits: Permits, room: int | None = None, rendered_first: bool = False
    ) -> list[Pending]:
        """Takes up to n requests from the head; those that do not hold a permit only while `permits` last. At most
        `room` of them need a browser; None: only plain ones are looked at. The two kinds take turns, so that neither
        wait until the other queue is empty."""
        left = permits.with_most_pages(None)
        if room is None:
            return self._pop_kind(job, host, n, left, _IS_PLAIN)
        half = (n + rendered_first) // 2
        popped = self._pop_kind(job, host, min(half, room), left, _IS_RENDERED)
        plain = self._pop_kind(job, host, n - len(popped), left, _IS_PLAIN)
        more = min(n - len(popped) - len(plain), room - len(popped))
        return popped + plain + self._pop_kind(job, host, more, left, _IS_RENDERED)

    def _pop_kind(self, job: int, host: int, n: int, left: Permits, kind: str) -> list[Pending]:
        popped: list[Pending] = []
        gone = []
        for row in self._heads(job, host, f"{left.rows} AND {kind}") if n > 0 else ():
            room, permitted = n - len(popped), None if row["held"] else left.of(row["band"])
            room = room if permitted is None else min(room, permitted)
            if room <= 0:
                if len(popped) < n and row["band"] == ASSETS:
                    continue
                break
            lines = row["lines"].split("\n")[row["taken"] :]
            taken = lines[:room]
            kept = row["attempt"], row["crashes"], bool(row["held"])
            popped += [Pending(row["band"], row["trail"], line, *kept) for line in taken]
            if not row["held"]:
                left.take(row["band"], len(taken))
            gone.append((row["seq"], row["taken"] + len(taken) if len(taken) < len(lines) else None))
        for seq, taken_now in gone:
            self._advance(seq, taken_now)
        return popped

    def is_empty(self, job: int, host: int) -> bool:
        return self._heads(job, host).fetchone() is None

    def lines(self, job: int, host: int) -> Iterator[str]:
        """Lines that are still queued for the host, oldest rows first."""
        for row in self._heads(job, host):
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

    def _heads(self, job: int, host: int, rows: str = "TRUE") -> sqlite3.Cursor:
        return self._db.execute(
            "SELECT seq, band, attempt, crashes, held, taken, trail, lines FROM queue "
            f"WHERE job = ? AND host = ? AND {rows} ORDER BY band, seq",
            (job, host),
        )

    def _advance(self, seq: int, taken: int | None) -> None:
        if taken is None:
            self._db.execute("DELETE FROM queue WHERE seq = ?", (seq,))
        else:
            self._db.execute("UPDATE queue SET taken = ? WHERE seq = ?", (taken, seq))


def band_of(trail: Trail, browser: bool) -> int:
    """Assets come first. Band 0 is served before 1, and 1 before 2. `browser`: whether the requests of the job need
    one, unless they say otherwise."""
    if trail.is_asset:
        return ASSETS
    needed = browser if trail.needs_browser is None else trail.needs_browser
    return 1 - (trail.priority > 0) + (trail.priority < 0) + needed * RENDERED


def band_for_browser(band: int) -> int:
    """That of a request which turned out to need a browser. Assets never do."""
    return band + RENDERED if ASSETS < band < RENDERED else band
