"""Takes offers: queues by host what a job has not seen, in the order in which it was found."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from shoal.errors import FrontierLost
from shoal.frontier.sqlite.pending_rows import RENDERED, Queue, band_of
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
        row = self._db.execute("SELECT state, assets_max, browser FROM job WHERE id = ?", (job,)).fetchone()
        if row is None or row["state"] == "lost":
            raise FrontierLost(offers[0].job)
        # Looked up together, because most are known, and one lookup by itself costs as much as ten of these.
        found = self._seen.unknown(job, [target.fingerprint for offer in offers for target in offer.targets])
        if found:
            self._seen.add(job, found)
            rendered, new = self._enqueue(row, job, offers, set(found)), len(found)
            counts = "found = found + ?1, queued = queued + ?1, rendered = rendered + ?2"
            self._db.execute(f"UPDATE job SET {counts} WHERE id = ?3", (new, rendered, job))
        return len(found)

    def _enqueue(self, row: sqlite3.Row, job: int, offers: Sequence[Offer], unknown: set[int]) -> int:
        """Returns how many need a browser."""
        limits_assets, browser, rendered = row["assets_max"] is not None, bool(row["browser"]), 0
        hosts: dict[int, bool] = {}
        """Host -> whether it may be capped by a limit that does not apply to the new requests."""
        for offer in offers:
            for name, targets in _taken_by_host(offer.targets, unknown).items():
                host = self._host_id(name)
                band = band_of(offer.trail, browser)
                self._queue.append(job, host, targets, offer.trail, band)
                rendered += len(targets) if band >= RENDERED else 0
                hosts[host] = hosts.get(host, False) or limits_assets or offer.trail.is_asset
        for host, may_be_capped in hosts.items():
            self._queue.look(job, host, self._now)
            if may_be_capped:
                self._queue.uncap(job, host, self._now)
        return rendered


def _taken_by_host(targets: Sequence[Target], unknown: set[int]) -> dict[str, list[Target]]:
    """Removes them from `unknown`, so that each is queued once."""
    by_host: dict[str, list[Target]] = {}
    for target in targets:
        if target.fingerprint in unknown:
            unknown.discard(target.fingerprint)
            by_host.setdefault(target.host, []).append(target)
    return by_host
