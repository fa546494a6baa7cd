"""A sink whose destination is tables. What differs between databases is in the modules beside this one.

Each type of item has a table with its fields as columns. `_id` is the key of a row: the key of the item, or its place
if its type has no key. `_job` and `_url` say where it comes from. Rows are inserted or replaced, so delivering them
twice is the same as once. An item that the database refuses is put aside with the database's words.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from shoal.errors import ShoalError, UsageError
from shoal.model import ItemType
from shoal.model.field_type import TEXT, FieldType
from shoal.sinks.destination import Destination, Options, SinkBatch, SinkItem, SinkLost
from shoal.store.crawl.sink_state import Refusal

OWN_COLUMNS: Mapping[str, FieldType] = {"_id": TEXT, "_job": TEXT, "_url": TEXT}


class Refused(Exception):
    """The database refuses a row because of its values; the text has its own words."""


class TableSink(Destination):
    address: str
    """For messages, without a password."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._first_type: str | None = None
        self._columns: dict[str, dict[str, str]] = {}
        """Type -> column -> the database's name of the column's type."""
        self._fields: dict[str, Mapping[str, FieldType]] = {}

    def prepare(self, types: Sequence[ItemType]) -> None:
        self._note_first(types)
        with self.transaction():
            for each in types:
                self._prepare_table(each.name, each.fields)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        try:
            with self.transaction():
                self.lock()
                try:
                    yield
                except SinkLost as error:
                    # After the commit: a table that was created for the items stays.
                    lost = error
                else:
                    return
            raise lost
        except ShoalError:
            # What was prepared in the transaction may be gone.
            self._columns.clear()
            raise

    def deliver(self, batch: SinkBatch) -> list[Refusal]:
        self._note_first(batch.types)
        declared = {each.name: each.fields for each in batch.types}
        if not batch.number:
            # Also those without an item yet: a table that is missing later was dropped.
            for type, fields in declared.items():
                self._prepare_table(type, fields)
        refusals: list[Refusal] = []
        for chunk in batch.chunks:
            for type, found in _by_type(chunk).items():
                fields = declared.get(type) or self._plain_fields(type, found)
                if self._prepare_table(type, fields) and batch.number:
                    raise SinkLost(f"{self.address}: the table {self.table_of(type)} was missing")
                refusals += self._insert(batch.job, type, found)
        for type, names in _by_type(batch.removed, key=lambda name: name.type).items():
            if self._prepare_known(type):
                self.delete(self.table_of(type), [name.id for name in names])
        return refusals

    def table_of(self, type: str) -> str:
        if named := self._options.get(f"table.{type}"):
            return named
        table = self._options.get("table")
        if table is None:
            return snake_case(type)
        return table if type == self._first_type else f"{table}_{snake_case(type)}"

    def _note_first(self, types: Sequence[ItemType]) -> None:
        if self._first_type is None and types:
            self._first_type = types[0].name

    def _plain_fields(self, type: str, found: Sequence[SinkItem]) -> Mapping[str, FieldType]:
        """Of plain mappings: nobody declared what they hold, and text holds all."""
        if self._first_type is None:
            self._first_type = type
        names = dict.fromkeys(name for item in found for name in json.loads(item.data))
        return {**self._fields.get(type, {}), **dict.fromkeys(names, TEXT)}

    def _prepare_known(self, type: str) -> bool:
        """Whether the table of a type exists, if only as another process made it."""
        if type not in self._columns and (existing := self.columns_of(self.table_of(type))):
            self._columns[type] = dict(existing)
        return type in self._columns

    def _prepare_table(self, type: str, fields: Mapping[str, FieldType]) -> bool:
        """Creates what is missing. Returns whether it created the table."""
        if type in self._columns and self._fields.get(type) == fields:
            return False
        if taken := OWN_COLUMNS.keys() & fields.keys():
            raise UsageError(f"{self.address}: {type} has the field {min(taken)}, which is a column of Shoal's own")
        table = self.table_of(type)
        wanted = {**OWN_COLUMNS, **fields}
        existing = self.columns_of(table)
        if existing is None:
            self.create(table, {name: self.type_of(of) for name, of in wanted.items()})
        else:
            self._extend(type, table, wanted, existing)
        self._columns[type] = dict(self.columns_of(table) or {})
        self._fields[type] = fields
        return existing is None

    def _extend(self, type: str, table: str, wanted: Mapping[str, FieldType], existing: Mapping[str, str]) -> None:
        for name, of in wanted.items():
            if name in existing and not self.accepts(existing[name], of):
                raise UsageError(
                    f"{self.address}: column {name} of table {table} is {existing[name]}, but the field of {type} is "
                    f"{of.kind} and needs {self.type_of(of)}: change the column or the field, or name another table"
                )
        missing = {name: self.type_of(of) for name, of in wanted.items() if name not in existing}
        self.add_columns(table, missing)

    def _insert(self, job: str, type: str, found: Sequence[SinkItem]) -> list[Refusal]:
        """Halves what is refused until the single items are found."""
        table, columns = self.table_of(type), self._columns[type]
        fields = {name: columns[name] for name in self._fields[type]}
        try:
            self.insert(table, fields, job, found)
        except Refused as error:
            if len(found) == 1:
                item = found[0]
                return [Refusal(item.name, item.page, item.data, str(error))]
            half = len(found) // 2
            return self._insert(job, type, found[:half]) + self._insert(job, type, found[half:])
        return []

    @abstractmethod
    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Connects if necessary, commits at the end, and translates errors."""

    @abstractmethod
    def lock(self) -> None:
        """Waits until no other process delivers to this sink, and keeps others out until the transaction ends."""

    @abstractmethod
    def columns_of(self, table: str) -> Mapping[str, str] | None:
        """Column -> type; None if there is no such table."""

    @abstractmethod
    def create(self, table: str, columns: Mapping[str, str]) -> None: ...

    @abstractmethod
    def add_columns(self, table: str, columns: Mapping[str, str]) -> None:
        """Also makes `_id` unique if it is among them."""

    @abstractmethod
    def type_of(self, field: FieldType) -> str: ...

    @abstractmethod
    def accepts(self, column: str, field: FieldType) -> bool:
        """Whether a column of this type can hold every value of the field."""

    @abstractmethod
    def insert(self, table: str, fields: Mapping[str, str], job: str, found: Sequence[SinkItem]) -> None:
        """Inserts or replaces all rows, or none and raises Refused."""

    @abstractmethod
    def delete(self, table: str, ids: Sequence[str]) -> None: ...


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _by_type(found: Sequence[Any], key: Any = attrgetter("name.type")) -> Mapping[str, Sequence[Any]]:
    types = dict.fromkeys(map(key, found))
    if len(types) == 1:
        return dict.fromkeys(types, found)
    return {type: [each for each in found if key(each) == type] for type in types}
