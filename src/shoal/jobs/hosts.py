"""A host by the name a person gives it, and its clock and robots.txt as people see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

from shoal.engine.permission import MAX_CRAWL_DELAY_S
from shoal.errors import UnknownHost
from shoal.fetch.robots import RobotsFile
from shoal.frontier.contract import Frontier, HostState
from shoal.jobs.place import Place
from shoal.store.columns import iso_time
from shoal.store.hosts import Said, change_word, stored_word
from shoal.store.remembered import RobotsRecord, robots_asked_for
from shoal.store.store import Store

NAMES_NEAR = 3
NAMES_LOOKED_AT = 10_000
"""For what was meant by a name that no host has."""


async def find_host(frontier: Frontier, name: str, guess: bool = True) -> HostState:
    """Raises UnknownHost, which may mean a slip of the pen: with `guess` it names hosts that are spelt alike."""
    found = await frontier.host(name.lower())
    if found is None:
        others = await frontier.hosts(most=NAMES_LOOKED_AT) if guess else ()
        raise unknown_host(name, [host.name for host in others])
    return found


def unknown_host(name: str, names: Iterable[str]) -> UnknownHost:
    near = get_close_matches(name.lower(), names, NAMES_NEAR)
    known = f"there is {', '.join(near)}" if near else "one is known when a job has asked it for something"
    return UnknownHost(f"there is no host {name!r} here; {known}")


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


async def host_told(place: Place, name: str, said: Said) -> HostState:
    """The host as it is once it is told what is said, if anything is. Raises UnknownHost."""
    known = await find_host(place.frontier, name)
    if not said:
        return known
    await override(place, known.name, said)
    # With its word taken back a quiet one may be forgotten at once.
    return await place.frontier.host(known.name) or known


def host_records(store: Store, agent: str, states: Sequence[HostState]) -> list[dict[str, Any]]:
    """With what each host's robots.txt asks of this agent."""
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
