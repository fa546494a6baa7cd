"""Checks from heartbeat files whether the fleet's processes on this machine make progress.

It uses no server and does not import Celery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.fleet.heartbeat_files import LastHeartbeat, last_heartbeats
from shoal.settings import running_up
from shoal.telemetry.log_files import path_of

_WITH_HEARTBEAT = ("tend", "worker")
"""The processes of `shoal up` that write heartbeats."""


@dataclass(frozen=True, slots=True)
class RoleHealth:
    role: str
    """`worker` (the main process), `child` (a process that crawls) or `tend`."""
    pid: int | None
    """None: it has not started."""
    silent_s: float | None
    fault: str | None
    """None: it makes progress, or waits for a server."""
    waiting_for: str | None


def role_health(home: Path, silent_s: float) -> Iterator[RoleHealth]:
    """Reports every process that runs on this machine with this home, was killed and not replaced, or that `shoal up`
    should have started here."""
    seen = set()
    for sign in last_heartbeats(home):
        seen.add(sign.role)
        is_dead = sign.is_dead
        if is_dead and sign.role == "child":
            # Its worker replaces it, and reports if it cannot.
            continue
        fault = "it was killed and has not been replaced" if is_dead else _fault(sign, silent_s)
        yield RoleHealth(sign.role, sign.pid, sign.silent_s, fault, sign.waiting_for or None)
    for part in running_up(home).get("parts", ()):
        if part in _WITH_HEARTBEAT and part not in seen:
            yield RoleHealth(part, None, None, f"`shoal up` starts it: see its log {path_of(home, part)}", None)


def _fault(sign: LastHeartbeat, silent_s: float) -> str | None:
    if sign.silent_s <= silent_s:
        return None
    return sign.waiting_for or "it is stopped or hangs"
