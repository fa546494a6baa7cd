"""A host by the name a person gives it, and its clock as people see it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from shoal.errors import UsageError
from shoal.frontier.contract import Frontier, HostState
from shoal.jobs.place import Place
from shoal.store.columns import iso_time
from shoal.store.hosts import Said, change_word, stored_word

NAMES_NEAR = 3


async def find_host(frontier: Frontier, name: str) -> HostState:
    hosts = {host.name: host for host in await frontier.hosts()}
    found = hosts.get(name.lower())
    if found is None:
        near = get_close_matches(name.lower(), hosts, NAMES_NEAR)
        known = f"; there is {', '.join(near)}" if near else "; `shoal hosts --all` lists them"
        raise UsageError(f"there is no host {name!r} here{known}")
    return found


async def override(place: Place, host: str, said: Said) -> None:
    """An operator's word on a host, for good: a frontier that is lost gets it back from the store."""
    word = change_word(place.store, host, said)
    while True:
        await place.frontier.override(host, rate=word.rate, paused=word.paused)
        now = stored_word(place.store, host)
        # Another word may have been told before this one, which is older.
        if now == word:
            return
        word = now


def host_record(state: HostState) -> dict[str, Any]:
    return {
        "host": state.name,
        "rate": state.rate,
        "paused": state.paused,
        "slowdown": round(state.slowdown, 3),
        "in_flight": state.in_flight,
        "next_at": iso_time(state.next_at) if state.next_at else None,
        "block_until": iso_time(state.block_until) if state.block_until else None,
        "block_reason": state.block_reason or None,
        "crawl_delay_s": state.crawl_delay_s,
        "latency_s": round(state.latency_s, 6),
        "fails": state.fails,
        "queued_jobs": state.queued_jobs,
    }
