"""Tables in MySQL and MariaDB. A statement that creates or changes a table commits what came before it. That is safe
here: rows are inserted or replaced, so a batch that is interrupted in between can be repeated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC
from decimal import Decimal
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.connections import Connection
from pymysql.constants import CR, ER

from shoal.errors import Unavailable, UsageError
from shoal.model.field_type import FieldType, Precision
from shoal.sinks.destination import Options, SinkItem, SinkLost
from shoal.sinks.tables.table_sink import Refused, TableSink
from shoal.store.crawl.sink_state import SinkKey
from shoal.store.results.item_values import datetime_of, decimal_of

_CONNECT_S, _ANSWER_S, _LOCK_S = 5, 60, 30
_ID_CHARACTERS = 700
"""The longest text that an index of InnoDB takes, with room to spare."""
_DIGITS, _PLACES = 65, 30
"""The most of a DECIMAL."""
_SESSION = (
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO', "
    f"time_zone = '+00:00', lock_wait_timeout = {_LOCK_S}, innodb_lock_wait_timeout = {_LOCK_S}"
)
_TYPES = {
    "integer": "bigint",
    "number": "double",
    "boolean": "tinyint(1)",
    "date": "date",
    "datetime": "datetime(6)",
    "list": "json",
    "object": "json",
}
_TEXTS = ("longtext", "mediumtext", "text", "tinytext", "varchar", "char")
_ACCEPTED = {
    "longtext": _TEXTS,
    "bigint": ("bigint", "int", "mediumint", "smallint", "tinyint", "decimal"),
    "double": ("double", "decimal"),
    # MariaDB's JSON is a text.
    "json": ("json", "longtext", "mediumtext", "text"),
    "datetime": ("datetime", "timestamp"),
}
_LOST = (ER.NO_SUCH_TABLE, ER.BAD_FIELD_ERROR)
_SIGNAL, _BEYOND_RANGE, _CHECK_FAILED, _CHECK_FAILED_MARIADB, _INVALID_JSON = 1644, 1690, 3819, 4025, 3140
_NO_SUCH_USER = 1698
_REFUSED = (
    *(ER.BAD_NULL_ERROR, ER.DUP_ENTRY, ER.WARN_DATA_OUT_OF_RANGE, ER.WARN_DATA_TRUNCATED, ER.TRUNCATED_WRONG_VALUE),
    *(ER.TRUNCATED_WRONG_VALUE_FOR_FIELD, ER.DATA_TOO_LONG, ER.ROW_IS_REFERENCED_2, ER.NO_REFERENCED_ROW_2),
    *(_SIGNAL, _BEYOND_RANGE, _CHECK_FAILED, _CHECK_FAILED_MARIADB, _INVALID_JSON),
)
"""Errors about the values of a row: data, constraints, triggers."""
_REJECTED = (
    *(ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR, ER.BAD_DB_ERROR, ER.TABLEACCESS_DENIED_ERROR, _NO_SUCH_USER),
)


class MysqlSink(TableSink):
    def __init__(self, key: SinkKey, address: str, options: Options) -> None:
        super().__init__(options)
        parts = urlsplit(address)
        host, port, name = parts.hostname or "localhost", parts.port, unquote(parts.path.lstrip("/"))
        if not name:
            raise UsageError(f"sink mysql://{host}/: name a database, as in mysql://user@{host}/shop?table=books")
        self.address = f"mysql://{host}{f':{port}' if port else ''}/{name}"
        self._parameters: dict[str, Any] = {
            "host": host,
            "port": port or 3306,
            "database": name,
            "user": unquote(parts.username or "") or None,
            "password": unquote(parts.password or ""),
            "ssl_ca": options.get("ssl_ca"),
            "ssl_verify_cert": True if "ssl_ca" in options else None,
            "ssl_verify_identity": True if "ssl_ca" in options else None,
        }
        self._lock_name = f"shoal/{key.job}/{key.place}"
        self._connection: Connection[Any] | None = None

    def close(self) -> None:
        if self._connection is not None and self._connection.open:
            self._connection.close()
        self._connection = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        try:
            db = self._connected()
            db.begin()
            try:
                yield
            except BaseException:
                # Also if the thread is interrupted: half a batch must not be committed.
                if db.open:
                    db.rollback()
                raise
            db.commit()
            self._execute("DO RELEASE_LOCK(%s)", self._lock_name)
        except (pymysql.MySQLError, OSError) as error:
            self._translate(error)

    def lock(self) -> None:
        # Ends with the connection: what holds the lock can still write, and nobody else.
        if self._execute("SELECT GET_LOCK(%s, %s)", self._lock_name, _LOCK_S) != [(1,)]:
            raise Unavailable(f"{self.address}: another process delivers to this sink")

    def columns_of(self, table: str) -> Mapping[str, str] | None:
        schema, name = _split(table)
        found = self._execute(
            "SELECT column_name, column_type FROM information_schema.columns "
            "WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s ORDER BY ordinal_position",
            *(schema, name),
        )
        return {name: type.lower() for name, type in found} or None

    def create(self, table: str, columns: Mapping[str, str]) -> None:
        parts = [f"{_quoted(name)} {self._declared(name, type)}" for name, type in columns.items()]
        parts = [*parts, "PRIMARY KEY (_id)"]
        self._execute(f"CREATE TABLE IF NOT EXISTS {_name(table)} ({', '.join(parts)}) CHARACTER SET utf8mb4")

    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        added = [f"ADD COLUMN {_quoted(name)} {self._declared(name, type)}" for name, type in columns.items()]
        added += ["ADD UNIQUE INDEX shoal_id (_id)"] if "_id" in columns else []
        if added:
            self._execute(f"ALTER TABLE {_name(table)} {', '.join(added)}")

    def type_of(self, field: FieldType) -> str:
        if field.kind == "decimal":
            return f"decimal({min(field.precision.digits, _DIGITS)},{min(field.precision.places, _PLACES)})"
        return _TYPES.get(field.kind, "longtext")

    def accepts(self, column: str, field: FieldType) -> bool:
        wanted, plain = _plain(self.type_of(field)), _plain(column)
        return plain in _ACCEPTED.get(wanted, (wanted,))

    def insert(self, table: str, fields: Mapping[str, str], job: str, found: Sequence[SinkItem]) -> None:
        rows = [_row(fields, job, item) for item in found]
        names = [_quoted(name) for name in ("_id", "_job", "_url", *fields)]
        # The driver leaves the % of this part alone.
        replaced = ", ".join(f"{name} = VALUES({name})" for name in names[1:]).replace("%%", "%")
        db = self._connected()
        with db.cursor() as cursor:
            cursor.execute("SAVEPOINT items")
            try:
                cursor.executemany(
                    f"INSERT INTO {_name(table)} ({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))}) "
                    f"ON DUPLICATE KEY UPDATE {replaced}",
                    rows,
                )
                self._check_all_there(table, [row[0] for row in rows])
            except Refused:
                cursor.execute("ROLLBACK TO SAVEPOINT items")
                raise
            except pymysql.MySQLError as error:
                if _code(error) in _REFUSED:
                    cursor.execute("ROLLBACK TO SAVEPOINT items")
                    raise Refused(_words(error)) from error
                raise

    def delete(self, table: str, ids: Sequence[str]) -> None:
        with self._connected().cursor() as cursor:
            cursor.executemany(f"DELETE FROM {_name(table)} WHERE _id = %s", [(id,) for id in ids])

    def _check_all_there(self, table: str, ids: Sequence[str]) -> None:
        """ON DUPLICATE KEY also updates a row that is equal in another unique column. It is another item's row."""
        marks = ", ".join(["%s"] * len(ids))
        [(n,)] = self._execute(f"SELECT COUNT(*) FROM {_name(table)} WHERE _id IN ({marks})", *ids)
        if n != len(set(ids)):
            raise Refused("another row has the same value in a unique column")

    def _declared(self, name: str, type: str) -> str:
        if name != "_id":
            return type
        # Both compare ids byte by byte, and blanks at the end, too.
        collation = "utf8mb4_nopad_bin" if self._is_mariadb else "utf8mb4_0900_bin"
        return f"varchar({_ID_CHARACTERS}) CHARACTER SET utf8mb4 COLLATE {collation}"

    @property
    def _is_mariadb(self) -> bool:
        [(version,)] = self._execute("SELECT VERSION()")
        return "mariadb" in version.lower()

    def _execute(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._connected().cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def _connected(self) -> Connection[Any]:
        if self._connection is None or not self._connection.open:
            self._connection = pymysql.connect(
                **self._parameters,
                charset="utf8mb4",
                connect_timeout=_CONNECT_S,
                read_timeout=_ANSWER_S,
                write_timeout=_ANSWER_S,
                init_command=_SESSION,
                program_name="shoal-sink",
            )
        return self._connection

    def _translate(self, error: Exception) -> NoReturn:
        code, words = _code(error), f"{self.address}: {_words(error)}"
        if code in _LOST:
            raise SinkLost(words) from error
        # The lock ends with the connection.
        self.close()
        if code in _REJECTED:
            raise UsageError(f"{words}: check the sink's URL and its secret") from error
        if isinstance(error, pymysql.ProgrammingError | pymysql.NotSupportedError):
            raise UsageError(words) from error
        raise Unavailable(words) from error


def _row(fields: Mapping[str, str], job: str, item: SinkItem) -> tuple[Any, ...]:
    data = json.loads(item.data)
    return item.name.id, job, item.url, *(_value(name, type, data.get(name)) for name, type in fields.items())


def _value(name: str, type: str, value: Any) -> Any:
    plain = _plain(type)
    if value is None:
        return None
    if plain in ("datetime", "timestamp"):
        at = datetime_of(value)
        if at is None:
            raise Refused(f"{name} {value!r:.80} is no date and time")
        return at.astimezone(UTC).replace(tzinfo=None)
    if plain == "decimal":
        return _decimal(name, type, value)
    # JSON's own words for lists and objects, and for true and false in a column of texts.
    if isinstance(value, list | dict) or plain == "json" or (isinstance(value, bool) and plain in _TEXTS):
        return json.dumps(value, ensure_ascii=False)
    return value


def _decimal(name: str, type: str, value: Any) -> Decimal:
    """MySQL would round it without a word."""
    number = decimal_of(value)
    found = re.fullmatch(r"decimal\((\d+),(\d+)\).*", type)
    if number is None or (found and not Precision(int(found[1]), int(found[2])).holds(number)):
        raise Refused(f"{name} {value!r:.80} does not fit into {type}")
    return number


def _split(table: str) -> tuple[str | None, str]:
    """`schema.table` names a table of another database of the server."""
    schema, point, name = table.partition(".")
    return (schema, name) if point else (None, table)


def _name(table: str) -> str:
    return ".".join(_quoted(part) for part in _split(table) if part)


def _quoted(name: str) -> str:
    # Doubled: the driver takes % for a parameter.
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def _plain(type: str) -> str:
    """The type without its length and other words."""
    return re.split(r"[( ]", type, maxsplit=1)[0]


def _code(error: Exception) -> int:
    return error.args[0] if error.args and isinstance(error.args[0], int) else CR.CR_UNKNOWN_ERROR


def _words(error: Exception) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)
