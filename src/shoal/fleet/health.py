"""Whether the roles of this machine make progress, told from files alone: no server is asked, Celery not imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.fleet.life import Sign, signs
from shoal.settings import running_up
from shoal.telemetry.role_file import path_of

_SIGNING = ("tend", "worker")
"""Those of the parts of `shoal up` that give signs of life."""


@dataclass(frozen=True, slots=True)
class Condition:
    role: str
    """`worker`, the main process of one, `child`, a process that crawls, or `tend`."""
    pid: int | None
    """None: it has not begun."""
    silent_s: float | None
    fault: str | None
    """In words; None: it makes progress, or waits for what is not its own."""
    waiting_for: str | None


def conditions(home: Path, silent_s: float) -> Iterator[Condition]:
    """Of every role that runs on this machine from this home, or was killed there and not replaced, or that
    `shoal up` should have here."""
    seen = set()
    for sign in signs(home):
        seen.add(sign.role)
        is_dead = sign.is_dead
        if is_dead and sign.role == "child":
            # Its worker starts another, and tells if it cannot.
            continue
        fault = "it was killed, and no other has taken its place" if is_dead else _fault(sign, silent_s)
        yield Condition(sign.role, sign.pid, sign.silent_s, fault, sign.waiting_for or None)
    for part in running_up(home).get("parts", ()):
        if part in _SIGNING and part not in seen:
            yield Condition(part, None, None, f"`shoal up` starts it: {path_of(home, part)} has its last words", None)


def _fault(sign: Sign, silent_s: float) -> str | None:
    if sign.silent_s <= silent_s:
        return None
    return sign.waiting_for or "it is stopped, or stuck"
