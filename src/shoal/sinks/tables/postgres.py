"""Tables in PostgreSQL. The database itself takes the fields out of an item's JSON, so a value that does not fit is
refused by its rules and in its words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NoReturn
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from shoal.errors import Unavailable, UsageError
from shoal.model.field_type import FieldType
from shoal.sinks.destination import Options, SinkItem, SinkLost
from shoal.sinks.tables.table_sink import OWN_COLUMNS, Refused, TableSink
from shoal.store.crawl.sink_state import SinkKey
from shoal.store.database.postgres_timeouts import TimeoutConnection, connect

_CONNECTION: dict[str, Any] = {
    "connect_timeout": 5,
    "application_name": "shoal-sink",
    "client_encoding": "utf8",
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
# Times without a zone are UTC.
_SESSION = "SET TimeZone = 'UTC'; SET lock_timeout = '30s'; SET client_min_messages = warning"
_TYPES = {
    "text": "text",
    "url": "text",
    "integer": "bigint",
    "number": "double precision",
    "decimal": "numeric",
    "boolean": "boolean",
    "date": "date",
    "datetime": "timestamp with time zone",
}
_TEXTS = ("text", "character varying", "character", "citext")
_ACCEPTED = {
    "text": _TEXTS,
    "bigint": ("bigint", "integer", "smallint", "numeric"),
    "double precision": ("double precision", "numeric"),
    "numeric": ("numeric",),
    "jsonb": ("jsonb", "json"),
}
"""Our type of a column -> types of an existing column that do as well."""
_LOST = ("42P01", "42703")
_REFUSED = ("22", "23", "P0")
"""Classes of errors about the values of a row: data, constraints, triggers."""
_TO_MEND = ("28", "3D", "42", "0A")
_REJECTED = ("does not exist", "authentication failed", "no password supplied", "no pg_hba.conf entry")
"""In libpq's message about a connection, which has no code."""


class PostgresSink(TableSink):
    def __init__(self, key: SinkKey, address: str, options: Options) -> None:
        super().__init__(options)
        self._parameters = {**_CONNECTION, **_parsed(address)}
        shown = {name: self._parameters.get(name) for name in ("host", "port", "dbname")}
        host, port, name = shown["host"] or "localhost", shown["port"], shown["dbname"] or ""
        self.address = f"postgresql://{host}{f':{port}' if port else ''}/{name}"
        digest = blake2b(f"{key.job}/{key.place}".encode(), digest_size=8).digest()
        self._lock_key = int.from_bytes(digest, signed=True)
        self._db: TimeoutConnection | None = None

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            db = self._connected()
            with db.transaction():
                yield
        except psycopg.Error as error:
            self._translate(error)

    def lock(self) -> None:
        # Ends with the transaction, so also with the connection: what holds the lock can still write, and nobody else.
        self._connected().execute("SELECT pg_advisory_xact_lock(%s)", (self._lock_key,))

    def columns_of(self, table: str) -> Mapping[str, str] | None:
        found = self._connected().execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (_name(table).as_string(None),),
        )
        return dict(found.fetchall()) or None

    def create(self, table: str, columns: Mapping[str, str]) -> None:
        parts = [sql.SQL("{} {}").format(sql.Identifier(name), _raw(type)) for name, type in columns.items()]
        statement = sql.SQL("CREATE TABLE IF NOT EXISTS {} ({}, PRIMARY KEY (_id))")
        self._connected().execute(statement.format(_name(table), sql.SQL(", ").join(parts)))

    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        for name, type in columns.items():
            add = sql.SQL("ALTER TABLE {} ADD COLUMN IF NOT EXISTS {} {}")
            self._connected().execute(add.format(_name(table), sql.Identifier(name), _raw(type)))
        if "_id" in columns:
            self._connected().execute(sql.SQL("CREATE UNIQUE INDEX ON {} (_id)").format(_name(table)))

    def type_of(self, field: FieldType) -> str:
        if field.kind == "list" and field.entry is not None and field.entry.kind in _TYPES:
            return f"{_TYPES[field.entry.kind]}[]"
        return _TYPES.get(field.kind, "jsonb")

    def accepts(self, column: str, field: FieldType) -> bool:
        wanted = self.type_of(field)
        # numeric(12,2) is a numeric; a value that does not fit is refused with the database's words.
        plain = re.sub(r"\([0-9, ]+\)", "", column)
        if wanted.endswith("[]"):
            return plain == wanted or plain in _ACCEPTED["jsonb"]
        return plain in _ACCEPTED.get(wanted, (wanted,))

    def insert(self, table: str, fields: Mapping[str, str], job: str, found: Sequence[SinkItem]) -> None:
        # As JSON, which the items are already: the driver would take several times as long for arrays.
        ids, urls = json.dumps([item.name.id for item in found]), json.dumps([item.url for item in found])
        data = f"[{','.join([item.data for item in found])}]"
        try:
            with self._connected().transaction():
                self._connected().execute(_upsert(table, tuple(fields.items())), (job, ids, urls, data))
        except psycopg.Error as error:
            state = error.sqlstate or ""
            if state in _LOST:
                raise SinkLost(f"{self.address}: {_words(error)}") from error
            if state.startswith(_REFUSED):
                raise Refused(_words(error)) from error
            raise

    def delete(self, table: str, ids: Sequence[str]) -> None:
        self._connected().execute(sql.SQL("DELETE FROM {} WHERE _id = ANY(%s)").format(_name(table)), (list(ids),))

    def _connected(self) -> TimeoutConnection:
        if self._db is None or self._db.closed:
            self._db = connect({**self._parameters, "autocommit": True})
            self._db.execute(_SESSION)
        return self._db

    def _translate(self, error: psycopg.Error) -> NoReturn:
        state = error.sqlstate or ""
        words = f"{self.address}: {_words(error)}"
        if state in _LOST:
            raise SinkLost(words) from error
        if state.startswith(_TO_MEND):
            raise UsageError(words) from error
        self.close()
        if not state and any(sign in words for sign in _REJECTED):
            raise UsageError(f"{words}: check the sink's URL and its secret") from error
        raise Unavailable(words) from error


def _parsed(address: str) -> dict[str, Any]:
    try:
        return conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # Without the text: it may contain a password.
        host = urlsplit(address).hostname
        raise UsageError(f"the sink at {host} has a parameter that PostgreSQL does not know") from None


@lru_cache(100)
def _upsert(table: str, fields: tuple[tuple[str, str], ...]) -> bytes:
    own, names = [sql.Identifier(name) for name in OWN_COLUMNS], [sql.Identifier(name) for name, _ in fields]
    record = sql.SQL(", ").join(sql.SQL("{} {}").format(sql.Identifier(name), _raw(type)) for name, type in fields)
    values = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(name) for name in [*own[1:], *names])
    taken = sql.SQL("CROSS JOIN LATERAL jsonb_to_record(given.data::jsonb) AS item({})").format(record)
    statement = sql.SQL(
        "INSERT INTO {table} ({columns}) SELECT given.id, %s, given.url{fields} "
        "FROM ROWS FROM (json_array_elements_text(%s), json_array_elements_text(%s), json_array_elements(%s)) "
        "AS given(id, url, data) {taken} "
        "ON CONFLICT (_id) DO UPDATE SET {values}"
    ).format(
        table=_name(table),
        columns=sql.SQL(", ").join([*own, *names]),
        fields=sql.SQL("").join(sql.SQL(", item.{}").format(name) for name in names),
        taken=taken if fields else sql.SQL(""),
        values=values,
    )
    return statement.as_bytes(None)


def _name(table: str) -> sql.Identifier:
    """`schema.table` names a table of a schema."""
    return sql.Identifier(*table.split(".", 1))


def _raw(type: str) -> sql.SQL:
    return sql.SQL(type)


def _words(error: psycopg.Error) -> str:
    """The database's message and detail, in one line."""
    detail = error.diag.message_detail
    message = error.diag.message_primary or str(error).strip().partition("\n")[0]
    return f"{message}: {detail}" if detail else message
