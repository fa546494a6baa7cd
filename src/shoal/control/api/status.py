"""Whether this process lives, and whether it can serve: for load balancers and orchestrators, without a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sqlalchemy import text

from shoal.control.bridge import Bridge, bridge
from shoal.control.models.given import Told
from shoal.control.routes import Reply, Routes
from shoal.errors import Unavailable

CHECK_S = 5.0
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


@routes.get("/livez", None, answers={200: Alive})
def livez() -> Reply:
    """Whether the process answers; asks no server."""
    return {"status": "ok"}


@routes.get("/readyz", None, answers={200: Ready, 503: Ready})
def readyz() -> Reply:
    """Whether Redis and the database answer."""
    parts = {"database": _part(_ask_database), "redis": _part(_ask_redis)}
    ready = set(parts.values()) == {"ok"}
    return {"status": "ok" if ready else "unavailable", **parts}, 200 if ready else 503


def _part(ask: Callable[[Bridge], None]) -> Part:
    try:
        ask(bridge())
    except Unavailable:
        # Not in whose words: anybody may ask this.
        return "unavailable"
    return "ok"


def _ask_database(over: Bridge) -> None:
    with over.store.read() as db:
        db.execute(text("SELECT 1"))


def _ask_redis(over: Bridge) -> None:
    over.run(over.connection.command("PING"), CHECK_S)
