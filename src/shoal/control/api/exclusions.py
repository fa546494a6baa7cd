"""What the operator lets no job of the fleet request."""

from __future__ import annotations

from shoal.control.bridge import bridge
from shoal.control.models.exclusions import ExclusionsGiven, ExclusionsQuery, ExclusionsShown
from shoal.control.problems import conflict
from shoal.control.routes import ADMIN, READ, Reply, Routes
from shoal.fleet.exclusions import exclude
from shoal.store.exclusions import current_exclusions

routes = Routes("exclusions")


@routes.get("/exclusions", READ, answers={200: ExclusionsShown})
def exclusions() -> Reply:
    """List what no job may request."""
    return current_exclusions(bridge().store)._asdict()


@routes.put("/exclusions", ADMIN, answers={200: ExclusionsShown}, body=ExclusionsGiven, query=ExclusionsQuery)
def set_exclusions(body: ExclusionsGiven, query: ExclusionsQuery) -> Reply:
    """Set what no job may request; what is queued of it is dropped when its turn comes.

    Who must not overwrite another's change gives the `version` it has seen.
    """
    changed = bridge().run_apart(lambda fleet: exclude(fleet, body.lines, query.version))
    if changed is None:
        raise conflict(f"the exclusions are not of version {query.version} any more: look at them again, and repeat")
    return changed._asdict()
