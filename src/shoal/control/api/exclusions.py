"""The operator's exclusions: URLs that no job of the fleet may request."""

from __future__ import annotations

from shoal.client.responses.fleet import Exclusions
from shoal.control.async_bridge import bridge
from shoal.control.models.exclusions import ExclusionsGiven, ExclusionsQuery
from shoal.control.problems import conflict
from shoal.control.routes import ADMIN, READ, Reply, Routes
from shoal.fleet.effective_exclusions import exclude
from shoal.store.fleet.exclusions import current_exclusions

routes = Routes("exclusions")


@routes.get("/exclusions", READ, answers={200: Exclusions})
def exclusions() -> Reply:
    """List the exclusions: what no job may request."""
    return current_exclusions(bridge().store)._asdict()


@routes.put("/exclusions", ADMIN, answers={200: Exclusions}, body=ExclusionsGiven, query=ExclusionsQuery)
def set_exclusions(body: ExclusionsGiven, query: ExclusionsQuery) -> Reply:
    """Replace the exclusions: what no job may request. Queued requests that match are dropped when they come up.

    To avoid overwriting another client's change, send the `version` that you have read.
    """
    changed = bridge().run_apart(lambda fleet: exclude(fleet, body.lines, query.version))
    if changed is None:
        raise conflict(f"the exclusions are no longer at version {query.version}: read them again and repeat")
    return changed._asdict()
