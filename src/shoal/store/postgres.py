"""A store in a PostgreSQL database, which many processes on many machines write at the same time.

A reader sees one snapshot. Writers meet only in the rows they share: they hold the requests they write before they
look at them, and take every other row in the order of its key. Connections are few, are tried before they are used,
fail within half a minute if the server stands still, and are made anew after it was away.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError

from shoal.errors import MissingExtra, ShoalError, Unavailable, UsageError

_SETTING = "SHOAL_DATABASE_URL"
_KEPT_CONNECTIONS = 3  # as many as a running crawl uses at once: one that writes, two that read
_MORE_CONNECTIONS = 5
_WAIT_S = 10.0
_PARTS = 64
_CONNECTION = {
    "connect_timeout": 5,
    "application_name": "shoal",
    "client_encoding": "utf8",
    # A server that vanished from the network is noticed within half a minute, not after the system's hours.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
# A process that stands still in the middle of a write holds its rows against all others.
_SESSION = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'"
# Whoever reads a listing may stop for as long as they like. With the 4 MB that are usual, `diff` would search for each
# item among all of the other job from some 100,000 on; with 64 it looks them up.
_READING = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL work_mem = '64MB'"
_CONTROL = "pg_control_system()"
_SCHEMA_LOCK = int.from_bytes(b"shoal db")


class Postgres:
    upgrades_itself = False
    refusal: type[ShoalError] = UsageError
    elsewhere = f"name another database in {_SETTING}"

    def __init__(self, address: str) -> None:
        url = _parsed(address)
        shown = URL.create("postgresql", host=url.host, port=url.port, database=url.database)
        self.name = shown.render_as_string()
        defaults = {name: value for name, value in _CONNECTION.items() if name not in url.query}
        try:
            self.writing = create_engine(
                url,
                connect_args=defaults,
                pool_size=_KEPT_CONNECTIONS,
                max_overflow=_MORE_CONNECTIONS,
                pool_timeout=_WAIT_S,
                pool_pre_ping=True,
            )
        except ModuleNotFoundError as error:
            raise MissingExtra(f"{self.name}: PostgreSQL needs psycopg", "fleet") from error
        event.listen(self.writing, "do_connect", _connect)
        event.listen(self.writing, "connect", _set_up_connection)
        self.reading: Engine = self.writing.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        event.listen(self.reading, "begin", _begin_reading)

    def translated(self, error: DBAPIError) -> ShoalError | None:
        said = str(error.orig).partition("\n")[0]
        state = getattr(error.orig, "sqlstate", None)
        if state is None and said.startswith("invalid connection option"):
            return UsageError(f"{self.name}: {said}: remove it from {_SETTING}")
        if state is None:
            # What the client itself finds: no server, a lost connection, a wrong password.
            away = isinstance(error, OperationalError | InterfaceError)
            return Unavailable(f"{self.name}: {said}: {_advice(said)}") if away else None
        found = _ADVICE.get(state) or _ADVICE.get(state[:2])
        return found[0](f"{self.name}: {said}: {found[1]}") if found else None

    def identity(self, db: Connection) -> str | None:
        # Not everything that speaks for PostgreSQL has it, and an operator may have taken it from our user.
        if not db.exec_driver_sql(f"SELECT has_function_privilege(to_regprocedure('{_CONTROL}'), 'execute')").scalar():
            return None
        database = "(SELECT oid FROM pg_database WHERE datname = current_database())"
        told = f"SELECT concat_ws('/', system_identifier, {database}, current_schema()) FROM {_CONTROL}"
        return db.exec_driver_sql(told).scalar()

    def is_contention(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) in _CONTENTION

    def hold(self, db: Connection, job: str, fingerprints: Iterable[int]) -> None:
        mark = _mark(job, 8)
        # In one order for all, or two that hold some of the same requests would wait for each other.
        keys = sorted(fingerprint ^ mark for fingerprint in fingerprints)
        db.exec_driver_sql("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) AS key", (keys,))

    def free_part(self, db: Connection, job: str) -> int:
        # Without parts commits of one job would take turns: at 50 ms each, 21 saves a second of four processes, not 54.
        # The lowest is taken, so that there are as many as there were ever writers at once.
        parts = f"generate_series(1, {_PARTS}) AS part"
        free = f"SELECT part FROM {parts} WHERE pg_try_advisory_xact_lock(%s, part) LIMIT 1"
        return db.exec_driver_sql(free, (_mark(job, 4),)).scalar() or 0

    def hold_schema(self, db: Connection) -> None:
        db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")
        if (encoding := db.exec_driver_sql("SHOW server_encoding").scalar()) != "UTF8":
            raise UsageError(f"{self.name} is encoded in {encoding}: make one with ENCODING 'UTF8' TEMPLATE template0")


_CONTENTION = ("40001", "40P01")
_AGAIN = (Unavailable, "try again")
_ADVICE: dict[str, tuple[type[Unavailable | UsageError], str]] = {
    "40001": _AGAIN,
    "40P01": _AGAIN,
    "55P03": (Unavailable, "another process has held its rows for too long; try again when that has ended"),
    "25P03": _AGAIN,
    "25006": (Unavailable, f"it takes no writes; name the primary server in {_SETTING}"),
    "42501": (UsageError, f"let the user of {_SETTING} create tables, read and write them"),
    "53100": (Unavailable, "make room on the server's disk"),
    "53300": (Unavailable, "raise max_connections, or run fewer processes"),
    "08": _AGAIN,
    "53": (Unavailable, "give the server more of it"),
    "57": (Unavailable, "try again when the server runs"),
    "58": (Unavailable, "see the server's log"),
}
"""By the whole code, else by its class."""


def _advice(said: str) -> str:
    """On what libpq says of a connection that it did not get."""
    if "certificate verify failed" in said:
        return f"name the file of the CA that signed it in {_SETTING}, as in ?sslrootcert=/path/ca.pem"
    return f"check that it runs, and {_SETTING}"


def _parsed(address: str) -> URL:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        # Without the text: it may hold a password.
        raise UsageError(f"{_SETTING} is no URL of a database: write postgresql://user:password@host/name") from None
    return url.set(drivername="postgresql+psycopg")


def _mark(job: str, size: int) -> int:
    return int.from_bytes(blake2b(job.encode(), digest_size=size).digest(), signed=True)


def _connect(_dialect: object, _record: object, _arguments: object, parameters: dict[str, Any]) -> Any:
    # Not before there is a driver.
    from shoal.store.answering import connect

    return connect(parameters)


def _set_up_connection(connection: Any, _record: object) -> None:
    connection.execute(_SESSION)
    connection.commit()


def _begin_reading(db: Connection) -> None:
    db.exec_driver_sql(_READING)
