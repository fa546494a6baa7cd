"""Hosts: their clocks, and an operator's word on one."""

from __future__ import annotations

from typing import cast

from shoal.control.bridge import bridge
from shoal.control.cursor import cursor, place_of
from shoal.control.models.fleet import HostChange, HostList, HostShown, HostsQuery
from shoal.control.problems import Problem
from shoal.control.routes import ADMIN, READ, Reply, Routes
from shoal.fleet.place import Fleet
from shoal.frontier.contract import HostState
from shoal.jobs.hosts import host_record, override
from shoal.store.hosts import Said

routes = Routes("hosts")
_LISTING = "hosts"


@routes.get("/hosts", READ, answers={200: HostList}, query=HostsQuery)
def hosts(query: HostsQuery) -> Reply:
    """List the hosts' clocks: rate, backoff and its reason, what is in flight."""
    place = place_of(query.cursor, _LISTING, (str,))
    after = place[0] if place else ""
    states = [state for state in bridge().run_apart(_states) if state.name > after]
    shown = states[: query.limit]
    more = len(states) > query.limit
    return {
        "hosts": [host_record(state) for state in shown],
        "next": cursor(_LISTING, [shown[-1].name]) if more else None,
    }


@routes.patch("/hosts/<host>", ADMIN, answers={200: HostShown}, body=HostChange)
def change_host(host: str, body: HostChange) -> Reply:
    """Override a host's rate, pause it, or let it go on; workers follow at their next lease."""

    async def change(fleet: Fleet) -> HostState:
        before = _named(await fleet.frontier.hosts(), host)
        await override(fleet, before.name, cast(Said, body.model_dump(exclude_unset=True)))
        return _named(await fleet.frontier.hosts(), host)

    return host_record(bridge().run_apart(change))


async def _states(fleet: Fleet) -> list[HostState]:
    return await fleet.frontier.hosts()


def _named(states: list[HostState], name: str) -> HostState:
    for state in states:
        if state.name == name.lower():
            return state
    raise Problem(404, f"there is no host {name!r} here: it was not asked for anything lately")
