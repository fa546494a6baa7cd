"""Reads items from a page. The reader is prepared once per Item class and reads each field for all records of a page.

An item that cannot be made becomes a Reject with the reason, never an exception: the other items are not lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

from pydantic import ValidationError
from selectolax.lexbor import LexborNode

from shoal.extract.casts import Url, caster, column_caster
from shoal.extract.document import Node
from shoal.extract.extract_errors import CastError
from shoal.extract.parse_numbers import NumberSyntax
from shoal.extract.selectors import Css
from shoal.spiders.batch_select import Records, records_of
from shoal.spiders.field_selectors import Pick, Place
from shoal.spiders.file_field import File
from shoal.spiders.item import Item, Reject, precision_in, unwrap_annotation

Read = Callable[[Place, str], Any]
"""(place, base URL) -> a value, None if there is none; raises CastError or Missing."""
Make = Callable[[Any, str], Any]
"""Converts the result of a selector into the value; raises CastError."""
MakeAll = Callable[[Sequence[Any], str], Sequence[Any]]
"""Converts all results of a selector; raises CastError if it cannot convert one of them."""

_FOR_PROGRAMS = re.compile(r"::attr\(|/@[\w:-]+\s*\Z")
"""A selector of an attribute. Its numbers are not written in the page's language: `content="129.900"`."""


class Missing(ValueError):
    pass


class Gap(NamedTuple):
    """Takes the place of a missing value."""

    fault: str | None
    """Why a required value is missing; None: the class has a default."""


class Column(NamedTuple):
    """A field's values, one per record."""

    values: Sequence[Any]
    is_whole: bool
    """Whether none of them is a Gap."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One field: where its value comes from, and how it is converted."""

    name: str
    pick: Pick
    to: type
    many: bool
    optional: bool
    has_default: bool
    read: Read
    make: Make
    make_all: MakeAll
    css: Css | None
    """The selector, if this field can be read for many records at once."""
    absent: Any
    """Replaces a missing value: a Gap, or None if the field allows it."""

    def value(self, place: Place, base_url: str) -> Any:
        try:
            value = self.read(place, base_url)
        except (CastError, Missing) as error:
            return Gap(f"{self.name}: {error}")
        return self.absent if value is None else value

    def column(self, records: Records, base_url: str) -> Column:
        """The same as `value` for each record."""
        if self.css is None:
            return Column([self.value(place, base_url) for place in records.places], False)
        raws = self._raws(records.first_of(self.css), self.css)
        if all(raws):
            try:
                return Column(self.make_all(raws, base_url), True)
            except CastError:
                pass
        of_each = zip(raws, records.places, strict=True)
        return Column([self._of_raw(raw, place, base_url) for raw, place in of_each], False)

    def _raws(self, nodes: Sequence[LexborNode | None], css: Css) -> Sequence[str | None]:
        there = list(filter(None, nodes))
        if len(there) == len(nodes):
            return css.read_all(there)
        return ["" if node is None else css.read(node) for node in nodes]

    def _of_raw(self, raw: str | None, place: Place, base_url: str) -> Any:
        if raw is None:
            # The element lacks the attribute, but another matching element may have it.
            return self.value(place, base_url)
        try:
            return self.make(raw, base_url) if raw else self.absent
        except CastError as error:
            return Gap(f"{self.name}: {error}")


class ItemReader:
    def __init__(self, cls: type[Item], usual_decimal: str | None = None) -> None:
        """`usual_decimal` is the decimal sign of the pages' language, for fields that name none."""
        self._cls = cls
        slots = [_slot(cls, name, usual_decimal) for name in cls.model_fields if _pick_of(cls, name) is not None]
        self.slots = [slot for slot in slots if not slot.pick.of_page]
        self.page_slots = [slot for slot in slots if slot.pick.of_page]
        """Read once per page, for all its items."""
        self._names = [slot.name for slot in (*self.slots, *self.page_slots)]
        self._validated = cls.__pydantic_validator__.validate_python

    def read(self, place: Place, base_url: str, of_page: Sequence[Any] = ()) -> Item | Reject:
        """`of_page` has a value for each of `page_slots`."""
        return self._made([*(slot.value(place, base_url) for slot in self.slots), *of_page])

    def read_each(
        self, nodes: list[LexborNode], root: LexborNode, base_url: str, of_page: Sequence[Any] = ()
    ) -> Iterator[Item | Reject]:
        """An item per element; faster than one by one if there are many."""
        records = records_of(nodes, root)
        if records is None or not self.slots:
            return (self.read(Node(node), base_url, of_page) for node in nodes)
        columns = [slot.column(records, base_url) for slot in self.slots]
        columns += [Column([value] * len(nodes), type(value) is not Gap) for value in of_page]
        rows = zip(*(column.values for column in columns), strict=True)
        if not all(column.is_whole for column in columns):
            return map(self._made, rows)
        # Each row is zipped with the names, without a step in Python.
        return map(self._item, map(dict, map(zip, repeat(self._names), rows)))

    def _made(self, values: Sequence[Any]) -> Item | Reject:
        found = {name: value for name, value in zip(self._names, values, strict=True) if type(value) is not Gap}
        faults = [value.fault for value in values if type(value) is Gap and value.fault is not None]
        if faults:
            return Reject(self._cls.__name__, _shown(found), "; ".join(faults))
        return self._item(found)

    def _item(self, found: dict[str, Any]) -> Item | Reject:
        try:
            made: Item = self._validated(found)
            return made
        except ValidationError as error:
            return Reject(self._cls.__name__, _shown(found), _in_words(error))


@lru_cache(1024)
def item_reader_for(cls: type[Item], usual_decimal: str | None = None) -> ItemReader:
    return ItemReader(cls, usual_decimal)


def _slot(cls: type[Item], name: str, usual_decimal: str | None) -> Slot:
    info = cls.model_fields[name]
    picked = _pick_of(cls, name)
    assert picked is not None
    to, many, optional = unwrap_annotation(info.annotation)
    has_default = not info.is_required()
    syntax = _syntax_of(picked, to, info.metadata, usual_decimal)
    missing = None if optional else Gap(f"{name}: nothing matches {picked.text!r}")
    make = _maker_of(to, syntax)
    gatherable = not many and not issubclass(to, Item) and "," not in picked.text
    return Slot(
        name=name,
        pick=picked,
        to=to,
        many=many,
        optional=optional,
        has_default=has_default,
        read=_read_of(picked, to, many, make, usual_decimal),
        make=make,
        make_all=_maker_of_all(to, syntax),
        css=picked.how if isinstance(picked.how, Css) and gatherable else None,
        absent=Gap(None) if has_default else missing,
    )


def _pick_of(cls: type[Item], name: str) -> Pick | None:
    return next((part for part in cls.model_fields[name].metadata if isinstance(part, Pick)), None)


def _syntax_of(picked: Pick, to: type, about: Sequence[Any], usual_decimal: str | None) -> NumberSyntax:
    """`about` is the metadata of the field."""
    if _FOR_PROGRAMS.search(picked.text) or picked.kind == "jsonpath":
        return NumberSyntax(picked.decimal)
    places = {int: 0, Decimal: precision_in(about).places}.get(to)
    return NumberSyntax(picked.decimal, usual_decimal, places)


def _maker_of(to: type, syntax: NumberSyntax) -> Make:
    """Chosen once per field, because a page has hundreds of values."""
    if to is str:
        return lambda raw, base_url: raw if isinstance(raw, str) else str(raw)
    convert = caster(Url if to is File else to, syntax)
    if convert is None:
        return lambda raw, base_url: raw
    if to is File:
        return lambda raw, base_url: File(url=convert(raw, base_url)) if isinstance(raw, str) else raw
    # pydantic converts JSON values that are not text.
    return lambda raw, base_url: convert(raw, base_url) if isinstance(raw, str) else raw


def _maker_of_all(to: type, syntax: NumberSyntax) -> MakeAll:
    """For the text values of CSS selectors."""
    cast_all: MakeAll | None = None if to is str else column_caster(Url if to is File else to, syntax)
    if to is File and cast_all is not None:
        urls_of = cast_all
        return lambda raws, base_url: [File(url=url) for url in urls_of(raws, base_url)]
    return cast_all or (lambda raws, base_url: raws)


def _read_of(picked: Pick, to: type, many: bool, make: Make, usual_decimal: str | None) -> Read:
    if issubclass(to, Item):
        return _nested_read(picked, to, many, usual_decimal)
    values, first = picked.values, picked.reader()

    def read_all(place: Place, base_url: str) -> list[Any]:
        return [make(raw, base_url) for raw in values(place) if raw is not None and raw != ""]

    def read_one(place: Place, base_url: str) -> Any:
        raw = first(place)
        return None if raw is None or raw == "" else make(raw, base_url)

    return read_all if many else read_one


def _nested_read(picked: Pick, cls: type[Item], many: bool, usual_decimal: str | None) -> Read:
    def nested(place: Place, base_url: str) -> Item:
        inner = item_reader_for(cls, usual_decimal).read(place, base_url)
        if isinstance(inner, Reject):
            raise Missing(f"{inner.type}: {inner.reason}")
        return inner

    def read_all(place: Place, base_url: str) -> list[Item]:
        return [nested(inner, base_url) for inner in picked.places(place)]

    def read_one(place: Place, base_url: str) -> Item | None:
        inner = next(picked.places(place), None)
        return None if inner is None else nested(inner, base_url)

    return read_all if many else read_one


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """The values, as JSON."""
    return {name: value if isinstance(value, str | int | float | None) else str(value) for name, value in found.items()}


def _in_words(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
