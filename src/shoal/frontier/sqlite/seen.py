"""Which fingerprints a job was ever offered: exact, and cheap for links met lately.

Inserting random keys into one large B-tree costs more the larger it grows. New fingerprints are therefore appended
to `fresh`, kept in memory beside it, and merged in key order once there are many; lookups go to memory first.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict

from shoal.frontier.recent import Recent

MERGE_AT = 50_000
LOOKUP = 500


class Seen:
    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self.reload()

    def reload(self) -> None:
        """Forgets what is in memory: after a rollback it may claim more than the tables hold."""
        self._fresh: defaultdict[int, set[int]] = defaultdict(set)
        self._recent: Recent[int] = Recent()
        for job, fingerprint in self._db.execute("SELECT job, fingerprint FROM fresh"):
            self._fresh[job].add(fingerprint)

    def unknown(self, job: int, fingerprints: list[int]) -> list[int]:
        """Those never offered, each once, in their order."""
        young, old = self._recent.of(job)
        fresh = self._fresh[job]
        asked = [f for f in dict.fromkeys(fingerprints) if f not in young and f not in old and f not in fresh]
        if asked:
            self._recent.remember(job, asked)
            stored = self._stored(job, asked)
            if stored:
                return [f for f in asked if f not in stored]
        return asked

    def add(self, job: int, fingerprints: list[int]) -> None:
        self._db.executemany("INSERT INTO fresh VALUES(?, ?)", [(job, f) for f in fingerprints])
        self._fresh[job].update(fingerprints)
        if sum(map(len, self._fresh.values())) >= MERGE_AT:
            self._merge()

    def holds(self, job: int, fingerprint: int) -> bool:
        return fingerprint in self._fresh[job] or bool(self._stored(job, [fingerprint]))

    def drop_job(self, job: int) -> None:
        self._fresh.pop(job, None)
        self._recent.drop(job)
        self._db.execute("DELETE FROM fresh WHERE job = ?", (job,))
        self._db.execute("DELETE FROM seen WHERE job = ?", (job,))

    def _stored(self, job: int, fingerprints: list[int]) -> set[int]:
        found: set[int] = set()
        for start in range(0, len(fingerprints), LOOKUP):
            part = fingerprints[start : start + LOOKUP]
            marks = ",".join("?" * len(part))
            query = f"SELECT fingerprint FROM seen WHERE job = ? AND fingerprint IN ({marks})"
            found.update(row[0] for row in self._db.execute(query, (job, *part)))
        return found

    def _merge(self) -> None:
        self._db.execute("INSERT OR IGNORE INTO seen SELECT job, fingerprint FROM fresh ORDER BY job, fingerprint")
        self._db.execute("DELETE FROM fresh")
        self._fresh.clear()
