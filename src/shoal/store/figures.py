"""A job's figures, counted from what is stored."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, Table, func, select

from shoal.store.batch import FAILED, SKIPPED
from shoal.store.store import Store
from shoal.store.tables import dead, drops, items, pages, redirects, rejects, tallies


@dataclass(frozen=True, slots=True)
class Failures:
    """Attempts that failed in the same way at the same host."""

    kind: str
    status: int | None
    host: str
    n: int
    sample: str | None


@dataclass(frozen=True, slots=True)
class StoredFigures:
    pages: int
    redirects: int
    dead: int
    dropped: dict[str, int]
    skipped: dict[str, int]
    items: int
    rejected: int
    bytes: int
    hosts: int
    by_status: dict[str, int]
    failures: list[Failures]
    """Most frequent first."""


def stored_figures(store: Store, job: str) -> StoredFigures:
    by_status = select(pages.c.status, func.count(), func.sum(pages.c.bytes)).where(pages.c.job == job)
    by_reason = select(drops.c.reason, func.count()).where(drops.c.job == job)
    hosts = select(func.count(pages.c.host.distinct())).where(pages.c.job == job)
    with store.read() as db:
        statuses = db.execute(by_status.group_by(pages.c.status).order_by(pages.c.status)).all()
        return StoredFigures(
            pages=sum(n for _, n, _ in statuses),
            redirects=_count(db, redirects, job),
            dead=_count(db, dead, job),
            dropped=dict(db.execute(by_reason.group_by(drops.c.reason)).all()),
            skipped={key: n for key, n, _ in _tallies(db, job, SKIPPED)},
            items=_count(db, items, job),
            rejected=_count(db, rejects, job),
            bytes=sum(size for _, _, size in statuses),
            hosts=db.execute(hosts).scalar_one(),
            by_status={str(status): n for status, n, _ in statuses},
            failures=[_failures(key, n, sample) for key, n, sample in _tallies(db, job, FAILED)],
        )


def _count(db: Connection, table: Table, job: str) -> int:
    return db.execute(select(func.count()).select_from(table).where(table.c.job == job)).scalar_one()


def _tallies(db: Connection, job: str, kind: str) -> list[tuple[str, int, str | None]]:
    of_kind = select(tallies.c.key, tallies.c.n, tallies.c.sample).where(tallies.c.job == job, tallies.c.kind == kind)
    return [(key, n, sample) for key, n, sample in db.execute(of_kind.order_by(tallies.c.n.desc(), tallies.c.key))]


def _failures(key: str, n: int, sample: str | None) -> Failures:
    kind, status, host = key.split(" ", 2)
    return Failures(kind, None if status == "-" else int(status), host, n, sample)
