"""Hosts: their clocks, what their robots.txt asks, and an operator's word on one."""

from __future__ import annotations

from typing import Any, cast

from shoal.control.bridge import bridge
from shoal.control.cursor import cursor, place_of
from shoal.control.models.fleet import HostChange, HostList, HostShown, HostsQuery
from shoal.control.ownership import owner
from shoal.control.problems import Problem
from shoal.control.routes import ADMIN, READ, Reply, Routes
from shoal.frontier.contract import HostState
from shoal.jobs.hosts import find_host, host_records, host_told
from shoal.store.hosts import Said

routes = Routes("hosts")
_LISTING = "hosts"


@routes.get("/hosts", READ, answers={200: HostList}, query=HostsQuery)
def hosts(query: HostsQuery) -> Reply:
    """List the hosts by name: rate, backoff and its reason, what is in flight, robots.txt.

    They are the hosts of all jobs, so a submit token, which sees its own jobs only, has to name one.
    """
    if owner() is not None:
        raise Problem(403, "the list has the hosts of all jobs: ask for one by its name, as in GET /api/v1/hosts/NAME")
    place = place_of(query.cursor, _LISTING, (str,))
    after = place[0] if place else ""
    states = bridge().run_apart(lambda fleet: fleet.frontier.hosts(after, query.limit + 1))
    shown = states[: query.limit]
    more = len(states) > query.limit
    return {"hosts": _records(shown), "next": cursor(_LISTING, [shown[-1].name]) if more else None}


@routes.get("/hosts/<host>", READ, answers={200: HostShown})
def host(host: str) -> Reply:
    """One host, by its name; of one that is not known the answer names those that are spelt like it, if the token may
    list them."""
    guess = owner() is None
    return _records([bridge().run_apart(lambda fleet: find_host(fleet.frontier, host, guess))])[0]


@routes.patch("/hosts/<host>", ADMIN, answers={200: HostShown}, body=HostChange)
def change_host(host: str, body: HostChange) -> Reply:
    """Override a host's rate, pause it, or let it go on; workers follow at their next lease.

    Of a host that no job has asked for anything lately it is 404, lest a slip of the pen pass for a word.
    """
    said = cast(Said, body.model_dump(exclude_unset=True))
    return _records([bridge().run_apart(lambda fleet: host_told(fleet, host, said))])[0]


def _records(states: list[HostState]) -> list[dict[str, Any]]:
    over = bridge()
    return host_records(over.store, over.settings.user_agent, states)
