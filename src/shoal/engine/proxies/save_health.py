"""Saves what pools learn about their proxies, and takes over what other processes and earlier jobs learnt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from shoal.engine.active_jobs import ActiveJobs
from shoal.engine.outage_retry import OutageRetry
from shoal.engine.proxies.learn_rows import changed_rows, learn_rows
from shoal.errors import ShoalError
from shoal.fetch.proxies.pool import ProxyPool
from shoal.store.async_store import AsyncStore
from shoal.store.proxies.costs import cost_since
from shoal.store.proxies.figures import ProxyFigures, add_proxy_figures, load_proxy_figures

SAVE_EVERY_S = 2.0


class HealthChannel(Protocol):
    """Passes what one process learns to the others, quicker than the store."""

    async def publish(self, rows: Sequence[ProxyFigures]) -> None: ...

    async def receive(self) -> list[ProxyFigures]:
        """What other processes published since the last call."""


class ProxyHealth:
    def __init__(
        self,
        async_store: AsyncStore,
        active_jobs: ActiveJobs,
        outages: OutageRetry,
        channel: HealthChannel | None = None,
    ) -> None:
        self._async_store = async_store
        self._active_jobs = active_jobs
        self._keep_trying = outages.keep_trying
        self._channel = channel
        self._read_at: dict[str, float] = {}
        self._unsaved: list[ProxyFigures] = []

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            while True:
                await asyncio.sleep(SAVE_EVERY_S)
                if pools := self._pools():
                    await self._keep_trying(self._exchange, pools)
        finally:
            with suppress(ShoalError):
                await self._save(self._pools())

    def _pools(self) -> list[ProxyPool]:
        return [one.exits.pool for one in self._active_jobs if one.exits is not None]

    async def _exchange(self, pools: list[ProxyPool]) -> None:
        # First: a database that is away must not end what requests in flight hold.
        for limits in {one.exits.limits for one in self._active_jobs if one.exits is not None}:
            if limits is not None:
                await limits.renew()
        rows = await self._save(pools)
        if self._channel is not None:
            await self._channel.publish(rows)
            learn_rows(pools, await self._channel.receive())
            return
        for name in {pool.name for pool in pools}:
            since, self._read_at[name] = self._read_at.get(name, time.time()), time.time() - 2 * SAVE_EVERY_S
            # Only what cools: results of this process are among the figures.
            found = await self._async_store.read(load_proxy_figures, name, since)
            learn_rows(pools, [_without_results(row) for row in found])

    async def _save(self, pools: list[ProxyPool]) -> list[ProxyFigures]:
        rows = _added([*self._unsaved, *(row for pool in pools for row in changed_rows(pool, time.time()))])
        # Kept until they are written: a full disk must not lose them.
        self._unsaved = rows
        if rows:
            await self._async_store.run(add_proxy_figures, rows)
        self._unsaved = []
        await self._note_spending(pools, rows)
        return rows

    async def _note_spending(self, pools: list[ProxyPool], rows: list[ProxyFigures]) -> None:
        for pool in pools:
            limit = pool.spending.limit
            if limit is None:
                continue
            spent = await self._async_store.read(cost_since, pool.name, limit.begins(datetime.now(UTC)))
            pool.spending.note_saved(sum(row.cost for row in rows if row.pool == pool.name and not row.host), spent)


def _added(rows: Iterable[ProxyFigures]) -> list[ProxyFigures]:
    """One row for each key: two jobs of this process may use one pool."""
    by_key: dict[tuple[str, str, str], ProxyFigures] = {}
    for row in rows:
        other = by_key.get(row[:3])
        if other is not None:
            added = [mine + theirs for mine, theirs in zip(row[3:9], other[3:9], strict=True)]
            latencies = tuple(mine + theirs for mine, theirs in zip(row.latencies, other.latencies, strict=True))
            row = ProxyFigures._make((*row[:3], *added, latencies, *row[10:]))
        by_key[row[:3]] = row
    return list(by_key.values())


def _without_results(row: ProxyFigures) -> ProxyFigures:
    return row._replace(successes=0, failures=0, blocks=0)
