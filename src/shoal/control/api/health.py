"""Health checks for load balancers and orchestrators: liveness and readiness, without a token."""

from __future__ import annotations

from shoal.client.responses.fleet import Alive, Ready
from shoal.control.readiness import ARCHIVE, faults
from shoal.control.routes import Reply, Routes

routes = Routes("status", prefix="")


@routes.get("/livez", None, answers={200: Alive})
def livez() -> Reply:
    """Liveness: whether the process answers; contacts no server."""
    return {"status": "ok"}


@routes.get("/readyz", None, answers={200: Ready, 503: Ready})
def readyz() -> Reply:
    """Readiness: whether Redis and the database answer and the schema is right; takes about 2 s at most.

    An archive that does not answer is said too, but the process is ready without it."""
    found = faults()
    parts = {name: "unavailable" if fault else "ok" for name, fault in found.items()}
    reason = "; ".join(fault for fault in found.values() if fault) or None
    if any(fault for name, fault in found.items() if name != ARCHIVE):
        return {"status": "unavailable", **parts, "reason": reason}, 503
    return {"status": "ok", **parts, "reason": reason}
