"""Hosts: their state, their robots.txt, and the operator's overrides."""

from __future__ import annotations

from typing import Any, cast

from shoal.client.responses.fleet import Host, HostList
from shoal.control.async_bridge import bridge
from shoal.control.cursor import cursor, place_of
from shoal.control.models.hosts import HostChange, HostsQuery
from shoal.control.ownership import owner
from shoal.control.problems import Problem
from shoal.control.routes import ADMIN, READ, Reply, Routes
from shoal.frontier.contract import HostState
from shoal.jobs import host_view
from shoal.jobs.host_view import find_host, host_records
from shoal.store.fleet.host_overrides import StoredOverride

routes = Routes("hosts")
_LISTING = "hosts"


@routes.get("/hosts", READ, answers={200: HostList}, query=HostsQuery)
def hosts(query: HostsQuery) -> Reply:
    """List the hosts by name: rate, backoff and its reason, requests in flight, robots.txt.

    The list has the hosts of all jobs, so a submit token, which sees only its own jobs, has to ask for one by name.
    """
    if owner() is not None:
        detail = "a submit token cannot list the hosts of all jobs: ask for one by name, GET /api/v1/hosts/NAME"
        raise Problem(403, detail)
    place = place_of(query.cursor, _LISTING, (str,))
    after = place[0] if place else ""
    states = bridge().run_apart(lambda fleet: fleet.frontier.hosts(after, query.limit + 1))
    shown = states[: query.limit]
    more = len(states) > query.limit
    return {"hosts": _records(shown), "next": cursor(_LISTING, [shown[-1].name]) if more else None}


@routes.get("/hosts/<host>", READ, answers={200: Host})
def host(host: str) -> Reply:
    """One host, by name. For an unknown host the answer suggests similar names, if the token may list hosts."""
    guess = owner() is None
    return _records([bridge().run_apart(lambda fleet: find_host(fleet.frontier, host, guess))])[0]


@routes.patch("/hosts/<host>", ADMIN, answers={200: Host}, body=HostChange)
def change_host(host: str, body: HostChange) -> Reply:
    """Override a host's rate, pause it or unpause it; workers apply the change at their next lease.

    A host that no job has used lately is 404, so that a typing error is not stored as an override.
    """
    override = cast(StoredOverride, body.model_dump(exclude_unset=True))
    return _records([bridge().run_apart(lambda fleet: host_view.change_host(fleet, host, override))])[0]


def _records(states: list[HostState]) -> list[dict[str, Any]]:
    over = bridge()
    return host_records(over.store, over.settings.user_agent, states)
