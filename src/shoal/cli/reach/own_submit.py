"""Hands a job to a fleet whose servers this machine reaches."""

from __future__ import annotations

from typing import Any

from shoal.cli.asked import asked
from shoal.cli.reach import HandedOver
from shoal.cli.session import Session
from shoal.fleet.place import Fleet
from shoal.fleet.submit import submit


def hand_over(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, options: dict[str, Any]
) -> HandedOver:
    fleet = Fleet(session.settings)
    wanted = asked(session, source, column, strict, None, options)
    try:
        made = session.run(submit(fleet, wanted.sources, wanted.spec_once_read))
    finally:
        session.run(fleet.close())
    return HandedOver(made.id, wanted.spec.name, made.accepted, made.duplicates, made.rejected, wanted.listed)
