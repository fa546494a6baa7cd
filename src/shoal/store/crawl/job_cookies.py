"""The cookies of a job and of its sessions, so that every worker and every later run of the job sends the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import and_, bindparam, delete, select

from shoal.store.database.storable_text import storable_row
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store
from shoal.store.tables import cookies

_COOKIES = Upsert(cookies, replace)
_HTTP_ONLY = "#HttpOnly_"


def save_cookies(store: Store, job: str, lines: Mapping[str, Sequence[str]]) -> None:
    """By session. Each takes the place of the one with its domain, path and name; the lines are those of libcurl."""
    found = (_cookie_row(job, session, line) for session, of_session in lines.items() for line in of_session)
    rows = {row[:5]: row for row in map(storable_row, found)}
    # In one order for all, or two workers that save some of the same would wait for each other.
    store.change(lambda db: _COOKIES.write(db, [rows[key] for key in sorted(rows)]))


def forget_cookies(store: Store, job: str, keys: Mapping[str, Sequence[tuple[str, str, str]]]) -> None:
    """By session; each by domain, path and name."""
    c = cookies.c
    columns = (c.job, c.session, c.domain, c.path, c.name)
    names = [f"of_{column.name}" for column in columns]
    these = and_(*(column == bindparam(name) for column, name in zip(columns, names, strict=True)))
    rows = [storable_row((job, session, *key)) for session, of_session in keys.items() for key in of_session]
    wanted = [dict(zip(names, row, strict=True)) for row in sorted(rows)]
    store.change(lambda db: db.execute(delete(cookies).where(these), wanted))


def load_cookies(store: Store, job: str) -> list[tuple[str, str]]:
    """Session and line; the session is empty for those of the job itself."""
    of_job = select(cookies.c.session, cookies.c.line).where(cookies.c.job == job)
    ordered = of_job.order_by(cookies.c.session, cookies.c.domain, cookies.c.path, cookies.c.name)
    with store.read() as db:
        return [(session, line) for session, line in db.execute(ordered)]


def _cookie_row(job: str, session: str, line: str) -> tuple[str, ...]:
    domain, _, path, _, _, name, _ = line.split("\t")
    return job, session, domain.removeprefix(_HTTP_ONLY), path, name, line
