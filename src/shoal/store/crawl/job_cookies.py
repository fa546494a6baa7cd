"""The cookies of a job, so that every worker and every later run of the job sends the same."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, bindparam, delete, select

from shoal.store.database.storable_text import storable_row
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store
from shoal.store.tables import cookies

_COOKIES = Upsert(cookies, replace)
_HTTP_ONLY = "#HttpOnly_"


def save_cookies(store: Store, job: str, lines: Sequence[str]) -> None:
    """Each takes the place of the one with its domain, path and name; the lines are those of libcurl."""
    rows = {row[:4]: row for row in (storable_row(_cookie_row(job, line)) for line in lines)}
    # In one order for all, or two workers that save some of the same would wait for each other.
    store.change(lambda db: _COOKIES.write(db, [rows[key] for key in sorted(rows)]))


def forget_cookies(store: Store, job: str, keys: Sequence[tuple[str, str, str]]) -> None:
    """By domain, path and name."""
    c = cookies.c
    these = and_(
        c.job == bindparam("of"), c.domain == bindparam("d"), c.path == bindparam("p"), c.name == bindparam("n")
    )
    rows = [storable_row((job, *key)) for key in keys]
    wanted = [dict(zip(("of", "d", "p", "n"), row, strict=True)) for row in sorted(rows)]
    store.change(lambda db: db.execute(delete(cookies).where(these), wanted))


def load_cookies(store: Store, job: str) -> list[str]:
    of_job = select(cookies.c.line).where(cookies.c.job == job)
    with store.read() as db:
        return list(db.execute(of_job.order_by(cookies.c.domain, cookies.c.path, cookies.c.name)).scalars())


def _cookie_row(job: str, line: str) -> tuple[str, ...]:
    domain, _, path, _, _, name, _ = line.split("\t")
    return job, domain.removeprefix(_HTTP_ONLY), path, name, line
