"""Finds a host by name, shows its clock and robots.txt, and changes its override."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from shoal.engine.robots.check import MAX_CRAWL_DELAY_S
from shoal.errors import UnknownHost
from shoal.fetch.robots import RobotsFile
from shoal.frontier.contract import Frontier, HostState
from shoal.jobs.deployment import Deployment
from shoal.store.crawl.robots_files import RobotsRecord, robots_asked_for
from shoal.store.fleet.host_overrides import StoredOverride, change_override, stored_override
from shoal.store.results.columns import iso_time
from shoal.store.store import Store

NAMES_NEAR = 3
NAMES_LOOKED_AT = 10_000
"""How many names are searched for similar ones."""


async def find_host(frontier: Frontier, name: str, guess: bool = True) -> HostState:
    """Raises UnknownHost. With `guess`, the error names hosts that are spelt alike, in case of a typo."""
    found = await frontier.host(name.lower())
    if found is None:
        others = await frontier.hosts(most=NAMES_LOOKED_AT) if guess else ()
        raise unknown_host(name, [host.name for host in others])
    return found


def unknown_host(name: str, names: Iterable[str]) -> UnknownHost:
    near = get_close_matches(name.lower(), names, NAMES_NEAR)
    hint = f"did you mean {', '.join(near)}?" if near else "a host becomes known when a job requests a URL of it"
    return UnknownHost(f"unknown host {name!r}; {hint}")


async def override(place: Deployment, host: str, change: StoredOverride) -> None:
    """Sets an operator's override permanently: the store restores it to a lost frontier."""
    wanted = change_override(place.store, host, change)
    while True:
        await place.frontier.override(host, rate=wanted.rate, paused=wanted.paused)
        now = stored_override(place.store, host)
        # A newer override may have reached the frontier before this one.
        if now == wanted:
            return
        wanted = now


async def change_host(place: Deployment, name: str, change: StoredOverride) -> HostState:
    """Applies the change, if there is one, and returns the host. Raises UnknownHost."""
    known = await find_host(place.frontier, name)
    if not change:
        return known
    await override(place, known.name, change)
    # Without an override, the frontier may forget an idle host at once.
    return await place.frontier.host(known.name) or known


def host_records(store: Store, agent: str, states: Sequence[HostState]) -> list[dict[str, Any]]:
    """Adds what each host's robots.txt says to this agent."""
    known = robots_asked_for(store, [origin for state in states for origin in _origins(state.name)])
    files = {origin: _robots(origin, record, agent) for origin, record in known.items()}
    return [
        host_record(state, [files[origin] for origin in _origins(state.name) if origin in files]) for state in states
    ]


def _origins(host: str) -> tuple[str, str]:
    return f"https://{host}", f"http://{host}"


def _robots(origin: str, known: RobotsRecord | None, agent: str) -> dict[str, Any]:
    if known is None:
        return {"origin": origin, "fetched_at": None, "says": "unanswered", "crawl_delay_s": None}
    file = RobotsFile(origin, agent, known.status, known.body, known.fetched_at)
    delay_s = file.rules.crawl_delay_s
    allowed = file.rules.allows(f"{origin}/") and delay_s <= MAX_CRAWL_DELAY_S
    says = "refuses" if not allowed else "allows" if file.has_rules else "nothing"
    return {"origin": origin, "fetched_at": iso_time(known.fetched_at), "says": says, "crawl_delay_s": delay_s}


def host_record(state: HostState, robots: Sequence[dict[str, Any]]) -> dict[str, Any]:
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
        "robots": list(robots),
    }
