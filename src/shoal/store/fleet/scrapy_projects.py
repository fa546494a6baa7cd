"""Scrapy projects that were uploaded: each version has a package, an egg or a wheel, which is kept as it was sent.

They are in the database, because every process of a fleet reaches it, and one transaction stores a package whole or not
at all. A package outlives its version while an unfinished job needs it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, select, true, update

from shoal.store.database.storable_text import storable
from shoal.store.database.upsert import insert_into
from shoal.store.jobs import unfinished_jobs
from shoal.store.store import Store
from shoal.store.tables import scrapy_packages as packages
from shoal.store.tables import scrapy_versions as table

KEEP_S = 3600.0
"""A package without a version is kept for so long: a job that is being created may need it."""


@dataclass(frozen=True, slots=True)
class ProjectVersion:
    project: str
    version: str
    package: str
    """The digest of the package."""
    spiders: tuple[str, ...]
    added_at: float


def save_version(store: Store, project: str, version: str, content: bytes, spiders: Sequence[str], at: float) -> None:
    """Replaces the version if there is one; its jobs keep the package that they began with."""
    digest = sha256(content).hexdigest()
    key = {"project": storable(project), "version": storable(version)}
    values = {"package": digest, "spiders": json.dumps([storable(name) for name in spiders]), "added_at": at}
    with store.write() as db:
        package = insert_into(db, packages).values(digest=digest, content=content)
        db.execute(package.on_conflict_do_update(index_elements=[packages.c.digest], set_={"unused_since": None}))
        row = insert_into(db, table).values(**key, **values)
        db.execute(row.on_conflict_do_update(index_elements=list(table.primary_key), set_=values))
        _mark_unused(db, at)


def uploaded_projects(store: Store) -> list[str]:
    with store.read() as db:
        return list(db.execute(select(table.c.project).distinct().order_by(table.c.project)).scalars())


def versions_of(store: Store, project: str) -> list[ProjectVersion]:
    """In the order of their upload."""
    found = select(table).where(table.c.project == storable(project)).order_by(table.c.added_at, table.c.version)
    with store.read() as db:
        return [_version(row) for row in db.execute(found)]


def remove_versions(store: Store, project: str, version: str | None, at: float) -> bool:
    """All versions of the project if none is given. False if there is nothing to remove."""
    which: ColumnElement[bool] = true() if version is None else table.c.version == storable(version)
    with store.write() as db:
        removed = db.execute(delete(table).where(table.c.project == storable(project), which)).rowcount > 0
        _mark_unused(db, at)
    return removed


def package_content(store: Store, digest: str) -> bytes | None:
    with store.read() as db:
        return db.execute(select(packages.c.content).where(packages.c.digest == digest)).scalar_one_or_none()


def remove_unused_packages(store: Store, now: float) -> None:
    """Those that no version and no unfinished job has."""
    unused = packages.c.unused_since < now - KEEP_S
    with store.read() as db:
        digests = set(db.execute(select(packages.c.digest).where(unused)).scalars())
    if not digests:
        return
    runs = (job.spec.scrapy_run for job in unfinished_jobs(store))
    digests -= {run.package for run in runs if run is not None and run.package is not None}
    with store.write() as db:
        # Asked again: it may have been uploaded once more meanwhile.
        db.execute(delete(packages).where(packages.c.digest.in_(digests), unused))


def _mark_unused(db: Connection, at: float) -> None:
    unused = packages.c.digest.not_in(select(table.c.package)), packages.c.unused_since.is_(None)
    db.execute(update(packages).where(*unused).values(unused_since=at))


def _version(row: Row[*tuple[Any, ...]]) -> ProjectVersion:
    return ProjectVersion(row.project, row.version, row.package, tuple(json.loads(row.spiders)), row.added_at)
