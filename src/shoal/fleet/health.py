"""Whether the roles of this machine make progress, told from files alone: no server is asked, Celery not imported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shoal.fleet.life import Sign, signs


@dataclass(frozen=True, slots=True)
class Condition:
    role: str
    """`worker`, the main process of one, `child`, a process that crawls, or `tend`."""
    pid: int
    silent_s: float
    fault: str | None
    """In words; None: it makes progress, or waits for what is not its own."""
    waiting_for: str | None


def conditions(home: Path, silent_s: float) -> Iterator[Condition]:
    """Of every role that runs on this machine from this home, or was killed there and not replaced."""
    for sign in signs(home):
        is_dead = sign.is_dead
        if is_dead and sign.role == "child":
            # Its worker starts another, and tells if it cannot.
            continue
        fault = "it was killed, and no other has taken its place" if is_dead else _fault(sign, silent_s)
        yield Condition(sign.role, sign.pid, sign.silent_s, fault, sign.waiting_for or None)


def _fault(sign: Sign, silent_s: float) -> str | None:
    if sign.silent_s <= silent_s:
        return None
    return sign.waiting_for or "it is stopped, or stuck"
