"""Which fingerprints a job was ever offered, exactly.

Inserting random keys into one large B-tree costs more the larger it grows. So new fingerprints are appended to `fresh`
and also kept in memory, and merged in key order once there are many. Lookups go to memory first. Most links that were
found recently do not come here, because `RecentOffers` filters them out.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict

MERGE_AT = 50_000


class Seen:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.reload()

    def reload(self) -> None:
        """Reloads the fingerprints in memory: after a rollback they may include more than the tables hold."""
        self._fresh: defaultdict[int, set[int]] = defaultdict(set)
        for job, fingerprint in self._db.execute("SELECT job, fingerprint FROM fresh"):
            self._fresh[job].add(fingerprint)

    def unknown(self, job: int, fingerprints: list[int]) -> list[int]:
        """Fingerprints that were never offered, each once."""
        fresh = self._fresh[job]
        not_fresh = [f for f in dict.fromkeys(fingerprints) if f not in fresh]
        return self._unstored(job, not_fresh) if not_fresh else []

    def add(self, job: int, fingerprints: list[int]) -> None:
        self._db.executemany("INSERT INTO fresh VALUES(?, ?)", [(job, f) for f in fingerprints])
        self._fresh[job].update(fingerprints)
        if sum(map(len, self._fresh.values())) >= MERGE_AT:
            self._merge()

    def holds(self, job: int, fingerprint: int) -> bool:
        return fingerprint in self._fresh[job] or not self._unstored(job, [fingerprint])

    def drop_job(self, job: int) -> None:
        self._fresh.pop(job, None)
        self._db.execute("DELETE FROM fresh WHERE job = ?", (job,))
        self._db.execute("DELETE FROM seen WHERE job = ?", (job,))

    def _unstored(self, job: int, fingerprints: list[int]) -> list[int]:
        # One text in and one text out: returning a row costs as much as looking it up.
        query = (
            "SELECT json_group_array(value) FROM json_each(?) "
            "WHERE NOT EXISTS(SELECT 1 FROM seen WHERE job = ? AND fingerprint = value)"
        )
        (unstored,) = self._db.execute(query, (str(fingerprints), job)).fetchone()
        found: list[int] = json.loads(unstored)
        return found

    def _merge(self) -> None:
        self._db.execute("INSERT OR IGNORE INTO seen SELECT job, fingerprint FROM fresh ORDER BY job, fingerprint")
        self._db.execute("DELETE FROM fresh")
        self._fresh.clear()
