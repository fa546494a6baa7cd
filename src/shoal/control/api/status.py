"""Whether this process lives, and whether it can serve: for load balancers and orchestrators, without a token."""

from __future__ import annotations

from typing import Literal

from shoal.control.models.given import Told
from shoal.control.readiness import faults
from shoal.control.routes import Reply, Routes

routes = Routes("status", prefix="")

Part = Literal["ok", "unavailable"]


class Alive(Told):
    """This process answers."""

    status: Literal["ok"]


class Ready(Told):
    """What this process stands on."""

    status: Part
    redis: Part
    database: Part
    reason: str | None


@routes.get("/livez", None, answers={200: Alive})
def livez() -> Reply:
    """Whether the process answers; asks no server."""
    return {"status": "ok"}


@routes.get("/readyz", None, answers={200: Ready, 503: Ready})
def readyz() -> Reply:
    """Whether Redis and the database answer, and have what this version needs; told within some 2 s."""
    found = faults()
    parts = {name: "unavailable" if fault else "ok" for name, fault in found.items()}
    reasons = [fault for fault in found.values() if fault]
    if reasons:
        return {"status": "unavailable", **parts, "reason": "; ".join(reasons)}, 503
    return {"status": "ok", **parts, "reason": None}
