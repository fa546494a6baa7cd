"""A store in a PostgreSQL database, which many processes on many machines write at the same time.

A reader sees one snapshot. Writers wait for each other only if they share rows: they lock the requests that they write
before they read them, and write all other rows in the order of their keys. Each process keeps few connections. It
tests a connection before use, gives up on a server that stands still within half a minute, and reconnects afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shoal.errors import MissingExtra, ShoalError, Unavailable, UsageError
from shoal.store.database.plain_sql import run, value

if TYPE_CHECKING:
    from shoal.store.database.plain_sql import Transaction

_SETTING = "SHOAL_DATABASE_URL"
_KEPT_CONNECTIONS = 3  # as many as a running crawl uses at once: one that writes, two that read
_MORE_CONNECTIONS = 5
_WAIT_S = 10.0
_PARTS = 64
"""The parts have the numbers 1 to this, and 0 if all are in use."""
_FILES = -1
"""In the place of a part."""
_CONNECTION = {
    "connect_timeout": 5,
    "application_name": "shoal",
    "client_encoding": "utf8",
    # Detects a server that vanished from the network within half a minute; the system's defaults take hours.
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
# A process that stops in the middle of a write would block all others from its rows.
_SESSION = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'"
# The reader of a listing may stop for as long as it likes. With the default of 4 MB, `diff` of jobs with more than
# about 100,000 items would scan all items of the other job for each item; with 64 MB it looks them up.
_READING = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL work_mem = '64MB'"
_CONTROL = "pg_control_system()"
_SCHEMA_LOCK = int.from_bytes(b"shoal db")


class Postgres:
    upgrades_itself = False
    parts = range(_PARTS + 1)
    refusal: type[ShoalError] = UsageError
    how_to_change = f"name another database in {_SETTING}"

    def __init__(self, address: str) -> None:
        url = _parsed(address)
        shown = URL.create("postgresql", host=url.host, port=url.port, database=url.database)
        self.name = shown.render_as_string()
        defaults = {name: value for name, value in _CONNECTION.items() if name not in url.query}
        try:
            self._writing = create_engine(
                url,
                connect_args=defaults,
                pool_size=_KEPT_CONNECTIONS,
                max_overflow=_MORE_CONNECTIONS,
                pool_timeout=_WAIT_S,
                pool_pre_ping=True,
            )
        except ModuleNotFoundError as error:
            raise MissingExtra(f"{self.name}: PostgreSQL needs psycopg", "fleet") from error
        event.listen(self._writing, "do_connect", _connect)
        event.listen(self._writing, "connect", _set_up_connection)
        self._reading: Engine = self._writing.execution_options(
            isolation_level="REPEATABLE READ", postgresql_readonly=True
        )
        event.listen(self._reading, "begin", _begin_reading)

    def read(self) -> AbstractContextManager[Connection]:
        return self._reading.begin()

    def write(self) -> AbstractContextManager[Connection]:
        return self._writing.begin()

    def write_at_once(self) -> AbstractContextManager[None]:
        return nullcontext()

    read_plain = read
    write_plain = write

    def close(self) -> None:
        self._writing.dispose()

    def translate_error(self, error: Exception) -> ShoalError | None:
        if isinstance(error, PoolTimeout):
            return Unavailable(f"{self.name}: all of this process's connections are in use; try again")
        if not isinstance(error, DBAPIError):
            return None
        message = str(error.orig).partition("\n")[0]
        state = getattr(error.orig, "sqlstate", None)
        if state is None and message.startswith("invalid connection option"):
            return UsageError(f"{self.name}: {message}: remove it from {_SETTING}")
        if state is None:
            # The client itself reports these: no server, a lost connection, a wrong password.
            away = isinstance(error, OperationalError | InterfaceError)
            return Unavailable(f"{self.name}: {message}: {_advice(message)}") if away else None
        found = _ADVICE.get(state) or _ADVICE.get(state[:2])
        return found[0](f"{self.name}: {message}: {found[1]}") if found else None

    def identity(self, db: Connection) -> str | None:
        # Some servers that speak PostgreSQL's protocol lack this function, or an operator has revoked it from our user.
        if not db.exec_driver_sql(f"SELECT has_function_privilege(to_regprocedure('{_CONTROL}'), 'execute')").scalar():
            return None
        database = "(SELECT oid FROM pg_database WHERE datname = current_database())"
        query = f"SELECT concat_ws('/', system_identifier, {database}, current_schema()) FROM {_CONTROL}"
        return db.exec_driver_sql(query).scalar()

    def is_contention(self, error: Exception) -> bool:
        return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _CONTENTION

    def lock_requests(self, db: Transaction, job: str, fingerprints: Iterable[int]) -> None:
        mark = _mark(job, 8)
        # All writers lock in the same order; otherwise two writers with common requests would deadlock.
        keys = sorted(fingerprint ^ mark for fingerprint in fingerprints)
        run(db, "SELECT pg_advisory_xact_lock(key) FROM unnest(:keys::bigint[]) AS key", {"keys": keys})

    def lock_files(self, db: Transaction, job: str, alone: bool) -> None:
        lock = "pg_advisory_xact_lock" if alone else "pg_advisory_xact_lock_shared"
        run(db, f"SELECT {lock}(:job, {_FILES})", {"job": _mark(job, 4)})

    def lock_free_part(self, db: Transaction, job: str) -> int:
        # Without parts, commits of one job would run one after the other: with commits of 50 ms, four processes made
        # 21 saves a second, not 54. The lowest free part is used, so there are as many as there were writers at once.
        parts = f"generate_series(1, {_PARTS}) AS part"
        free = f"SELECT part FROM {parts} WHERE pg_try_advisory_xact_lock(:job, part) LIMIT 1"
        part = value(db, free, {"job": _mark(job, 4)})
        if part is None:
            # Writers of part 0 take turns.
            run(db, "SELECT pg_advisory_xact_lock(:job, 0)", {"job": _mark(job, 4)})
        return part or 0

    def lock_schema(self, db: Transaction) -> None:
        run(db, f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")
        if (encoding := value(db, "SHOW server_encoding")) != "UTF8":
            raise UsageError(
                f"the database {self.name} is encoded in {encoding}: create one with ENCODING 'UTF8' TEMPLATE template0"
            )


_CONTENTION = ("40001", "40P01")
_AGAIN = (Unavailable, "try again")
_ADVICE: dict[str, tuple[type[Unavailable | UsageError], str]] = {
    "40001": _AGAIN,
    "40P01": _AGAIN,
    "55P03": (Unavailable, "another process has locked these rows for too long; try again when it has ended"),
    "25P03": _AGAIN,
    "25006": (Unavailable, f"this server is read-only; name the primary server in {_SETTING}"),
    "42501": (UsageError, f"grant the user in {_SETTING} the right to create, read and write tables"),
    "53100": (Unavailable, "free space on the server's disk"),
    "53300": (Unavailable, "raise max_connections, or run fewer processes"),
    "08": _AGAIN,
    "53": (Unavailable, "give the server more of this resource"),
    "57": (Unavailable, "try again when the server runs"),
    "58": (Unavailable, "see the server's log"),
}
"""By the full SQLSTATE, else by its class."""


def _advice(message: str) -> str:
    """What to do about libpq's message on a failed connection."""
    if "certificate verify failed" in message:
        return f"name the file of the CA that signed it in {_SETTING}, as in ?sslrootcert=/path/ca.pem"
    return f"check that the server runs and that {_SETTING} is right"


def _parsed(address: str) -> URL:
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        # Without the text: it may contain a password.
        raise UsageError(f"{_SETTING} is not a database URL: write postgresql://user:password@host/name") from None
    return url.set(drivername="postgresql+psycopg")


def _mark(job: str, size: int) -> int:
    return int.from_bytes(blake2b(job.encode(), digest_size=size).digest(), signed=True)


def _connect(_dialect: object, _record: object, _arguments: object, parameters: dict[str, Any]) -> Any:
    # Imported late, because psycopg may not be installed.
    from shoal.store.database.postgres_timeouts import connect

    return connect(parameters)


def _set_up_connection(connection: Any, _record: object) -> None:
    connection.execute(_SESSION)
    connection.commit()


def _begin_reading(db: Connection) -> None:
    db.exec_driver_sql(_READING)
