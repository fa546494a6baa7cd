"""Which jobs belong to an owner, as a condition of a query."""

from __future__ import annotations

from sqlalchemy import ColumnElement, true

from shoal.store.tables import jobs


def owned_by(owner: str | None) -> ColumnElement[bool]:
    """Matches the jobs of this owner; all jobs if it is None."""
    return true() if owner is None else jobs.c.owner == owner
