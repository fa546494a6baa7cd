"""The cookies of a job and of its sessions, so that every worker and every later run of the job sends the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shoal.store.database.plain_sql import run
from shoal.store.database.storable_text import storable_row
from shoal.store.database.upsert import Upsert, replace
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

_COOKIES = Upsert("cookies", replace)
_HTTP_ONLY = "#HttpOnly_"


def save_cookies(store: Store, job: str, lines: Mapping[str, Sequence[str]]) -> None:
    """By session. Each takes the place of the one with its domain, path and name; the lines are those of libcurl."""
    found = (_cookie_row(job, session, line) for session, of_session in lines.items() for line in of_session)
    rows = {row[:5]: row for row in map(storable_row, found)}
    # In one order for all, or two workers that save some of the same would wait for each other.
    store.change_plain(lambda db: _COOKIES.write(db, [rows[key] for key in sorted(rows)]))


def forget_cookies(store: Store, job: str, keys: Mapping[str, Sequence[tuple[str, str, str]]]) -> None:
    """By session; each by domain, path and name."""
    names = ("job", "session", "domain", "path", "name")
    these = " AND ".join(f"{name} = :{name}" for name in names)
    rows = [storable_row((job, session, *key)) for session, of_session in keys.items() for key in of_session]

    def forget(db: Transaction) -> None:
        for row in sorted(rows):
            run(db, f"DELETE FROM cookies WHERE {these}", dict(zip(names, row, strict=True)))

    store.change_plain(forget)


def load_cookies(store: Store, job: str) -> list[tuple[str, str]]:
    """Session and line; the session is empty for those of the job itself."""
    ordered = "SELECT session, line FROM cookies WHERE job = :job ORDER BY session, domain, path, name"
    with store.read_plain() as db:
        return [(session, line) for session, line in run(db, ordered, {"job": job})]


def _cookie_row(job: str, session: str, line: str) -> tuple[str, ...]:
    domain, _, path, _, _, name, _ = line.split("\t")
    return job, session, domain.removeprefix(_HTTP_ONLY), path, name, line
