"""What the operator lets no job of the fleet request."""

from __future__ import annotations

from shoal.control.bridge import bridge
from shoal.control.models.exclusions import ExclusionsGiven, ExclusionsShown
from shoal.control.routes import ADMIN, READ, Reply, Routes
from shoal.fleet.exclusions import exclude
from shoal.store.exclusions import stored_exclusions

routes = Routes("exclusions")


@routes.get("/exclusions", READ, answers={200: ExclusionsShown})
def exclusions() -> Reply:
    """List what no job may request."""
    return {"lines": stored_exclusions(bridge().store)}


@routes.put("/exclusions", ADMIN, answers={200: ExclusionsShown}, body=ExclusionsGiven)
def set_exclusions(body: ExclusionsGiven) -> Reply:
    """Set what no job may request; what is queued of it is dropped when its turn comes."""
    bridge().run_apart(lambda fleet: exclude(fleet, body.lines))
    return {"lines": stored_exclusions(bridge().store)}
