"""All requests of a job that have ended. A rebuilt frontier needs them, so that it does not lease them again."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import Select, false, func, literal, select

from shoal.store import tables
from shoal.store.store import Store

_TABLES = {"page": tables.pages, "redirect": tables.redirects, "dead": tables.dead, "drop": tables.drops}


class EndedRequest(NamedTuple):
    fingerprint: int
    host: str
    kind: str
    """page, redirect, dead or drop."""
    bytes: int
    reason: str
    """Why the request is dead or dropped, or why its redirect leads nowhere; otherwise empty."""
    is_asset: bool = False


def ended_requests(store: Store, job: str, after: EndedRequest | None, most: int) -> list[EndedRequest]:
    """Returns the next `most` requests in the order of kind and fingerprint; fewer if these are the last."""
    kinds = list(_TABLES)
    found: list[EndedRequest] = []
    with store.read() as db:
        for kind in kinds[kinds.index(after.kind) if after else 0 :]:
            known = after.fingerprint if after and after.kind == kind else None
            found += map(EndedRequest._make, db.execute(_of_kind(kind, job, known).limit(most - len(found))))
            if len(found) == most:
                break
    return found


def count_ended(store: Store, job: str) -> dict[str, int]:
    """Counts the ended requests of each kind; pages that are assets as `asset`."""
    are_assets = (
        select(func.count()).select_from(tables.pages).where(tables.pages.c.job == job, tables.pages.c.is_asset)
    )
    with store.read() as db:
        counts = {
            kind: db.scalar(select(func.count()).select_from(table).where(table.c.job == job))
            for kind, table in _TABLES.items()
        }
        assets = db.scalar(are_assets) or 0
    ended = {kind: n or 0 for kind, n in counts.items()}
    return {**ended, "page": ended["page"] - assets, "asset": assets}


def _of_kind(kind: str, job: str, after: int | None) -> Select[*tuple[Any, ...]]:
    table = _TABLES[kind]
    size = table.c.get("bytes", literal(0))
    reason = func.coalesce(table.c.reason, "") if "reason" in table.c else literal("")
    is_asset = func.coalesce(table.c.is_asset, false()) if "is_asset" in table.c else false()
    of_kind = select(table.c.fingerprint, table.c.host, literal(kind), size, reason, is_asset).where(table.c.job == job)
    if after is not None:
        of_kind = of_kind.where(table.c.fingerprint > after)
    return of_kind.order_by(table.c.fingerprint)
