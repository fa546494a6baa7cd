"""A job's figures, counted from what is stored."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import BigInteger, Connection, Table, cast, func, select

from shoal.store.batch import FAILED, SKIPPED, UNARCHIVED
from shoal.store.store import Store
from shoal.store.tables import dead, drops, items, pages, redirects, rejects, tallies
from shoal.urls.traps import PREFIX as TRAP

Tally = tuple[str, int, str | None]
"""Key, how many, sample."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Attempts that failed in the same way at the same host."""

    kind: str
    status: int | None
    host: str
    n: int
    sample: str | None


@dataclass(frozen=True, slots=True)
class Trapped:
    """Links not followed because they look endless by the same rule."""

    rule: str
    links: int
    samples: list[str]
    """The first URLs."""


@dataclass(frozen=True, slots=True)
class StoredFigures:
    pages: int
    redirects: int
    dead: int
    dropped: dict[str, int]
    skipped: dict[str, int]
    traps: list[Trapped]
    """What of the skipped are traps, most frequent first."""
    items: int
    rejected: int
    bytes: int
    hosts: int
    by_status: dict[str, int]
    changed: int
    """Pages of a refresh that an earlier job has otherwise."""
    unchanged: int
    unarchived: int
    """Answers for which the archive had no room."""
    failures: list[Failures]
    """Most frequent first."""


def stored_figures(store: Store, job: str) -> StoredFigures:
    # PostgreSQL adds up to a decimal.
    size = cast(func.sum(pages.c.bytes), BigInteger)
    by_status = select(pages.c.status, func.count(), size).where(pages.c.job == job)
    by_change = select(pages.c.changed, func.count()).where(pages.c.job == job, pages.c.changed.is_not(None))
    by_reason = select(drops.c.reason, func.count()).where(drops.c.job == job)
    hosts = select(func.count(pages.c.host.distinct())).where(pages.c.job == job)
    with store.read() as db:
        skips = _tallies(db, job, SKIPPED)
        compared: dict[bool, int] = dict(db.execute(by_change.group_by(pages.c.changed)).all())
        statuses = db.execute(by_status.group_by(pages.c.status).order_by(pages.c.status)).all()
        return StoredFigures(
            pages=sum(n for _, n, _ in statuses),
            redirects=_count(db, redirects, job),
            dead=_count(db, dead, job),
            dropped=dict(db.execute(by_reason.group_by(drops.c.reason)).all()),
            skipped=_by_reason(skips),
            traps=_trapped(skips),
            items=_count(db, items, job),
            rejected=_count(db, rejects, job),
            bytes=sum(size for _, _, size in statuses),
            hosts=db.execute(hosts).scalar_one(),
            by_status={str(status): n for status, n, _ in statuses},
            changed=compared.get(True, 0),
            unchanged=compared.get(False, 0),
            unarchived=sum(n for _, n, _ in _tallies(db, job, UNARCHIVED)),
            failures=[_failures(key, n, sample) for key, n, sample in _tallies(db, job, FAILED)],
        )


def failed_in_callbacks(store: Store, job: str) -> bool:
    """Whether any attempt did, after its page had been fetched."""
    with store.read() as db:
        return any(key.startswith("callback ") for key, _, _ in _tallies(db, job, FAILED))


def trapped(store: Store, job: str) -> list[Trapped]:
    with store.read() as db:
        return _trapped(_tallies(db, job, SKIPPED))


def _by_reason(skips: list[Tally]) -> dict[str, int]:
    """Traps of all rules are one reason."""
    counts: Counter[str] = Counter()
    for key, n, _ in skips:
        counts[key.partition(":")[0]] += n
    return dict(counts.most_common())


def _trapped(skips: list[Tally]) -> list[Trapped]:
    traps = [(key.removeprefix(TRAP), n, sample) for key, n, sample in skips if key.startswith(TRAP)]
    return [Trapped(rule, n, sample.split("\n") if sample else []) for rule, n, sample in traps]


def _count(db: Connection, table: Table, job: str) -> int:
    return db.execute(select(func.count()).select_from(table).where(table.c.job == job)).scalar_one()


def _tallies(db: Connection, job: str, kind: str) -> list[Tally]:
    # PostgreSQL adds up to a decimal.
    n = cast(func.sum(tallies.c.n), BigInteger)
    counts = select(tallies.c.key, n, func.min(tallies.c.sample)).where(tallies.c.job == job, tallies.c.kind == kind)
    ordered = counts.group_by(tallies.c.key).order_by(n.desc(), tallies.c.key)
    return [(key, n, sample) for key, n, sample in db.execute(ordered)]


def _failures(key: str, n: int, sample: str | None) -> Failures:
    kind, status, host = key.split(" ", 2)
    return Failures(kind, None if status == "-" else int(status), host, n, sample)
