"""Takes offers: queues by host what a job has not seen, in the order in which it was found."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from shoal.errors import FrontierLost
from shoal.frontier.sqlite.pending_rows import Queue
from shoal.frontier.sqlite.seen import Seen
from shoal.model import Offer, Target


class Offering:
    """One `offer` call."""

    def __init__(
        self, db: sqlite3.Connection, seen: Seen, queue: Queue, host_id: Callable[[str], int], now: float
    ) -> None:
        self._db = db
        self._seen = seen
        self._queue = queue
        self._host_id = host_id
        self._now = now

    def take(self, job: int, offers: Sequence[Offer]) -> int:
        """Returns how many targets are new. Raises FrontierLost."""
        row = self._db.execute("SELECT state, assets_max FROM job WHERE id = ?", (job,)).fetchone()
        if row is None or row["state"] == "lost":
            raise FrontierLost(offers[0].job)
        # Looked up together, because most are known, and one lookup by itself costs as much as ten of these.
        found = self._seen.unknown(job, [target.fingerprint for offer in offers for target in offer.targets])
        if found:
            self._seen.add(job, found)
            self._enqueue(job, offers, set(found), row["assets_max"] is not None)
            new = len(found)
            self._db.execute("UPDATE job SET found = found + ?, queued = queued + ? WHERE id = ?", (new, new, job))
        return len(found)

    def _enqueue(self, job: int, offers: Sequence[Offer], unknown: set[int], limits_assets: bool) -> None:
        hosts: dict[int, bool] = {}
        """Host -> whether it may be capped by a limit that does not apply to the new requests."""
        for offer in offers:
            for name, targets in _taken_by_host(offer.targets, unknown).items():
                host = self._host_id(name)
                self._queue.append(job, host, targets, offer.trail)
                hosts[host] = hosts.get(host, False) or limits_assets or offer.trail.is_asset
        for host, may_be_capped in hosts.items():
            self._queue.look(job, host, self._now)
            if may_be_capped:
                self._queue.uncap(job, host, self._now)


def _taken_by_host(targets: Sequence[Target], unknown: set[int]) -> dict[str, list[Target]]:
    """Removes them from `unknown`, so that each is queued once."""
    by_host: dict[str, list[Target]] = {}
    for target in targets:
        if target.fingerprint in unknown:
            unknown.discard(target.fingerprint)
            by_host.setdefault(target.host, []).append(target)
    return by_host
