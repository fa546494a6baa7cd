"""The types of Item classes, which define the columns of exports, and the Item classes that a spider uses.

A spider's items are known before the first page: from its rules, or from the names that its callbacks use. So a crawl
that finds nothing still has all columns.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from types import CodeType, ModuleType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from shoal.model import ItemType
from shoal.model.field_type import TEXT, FieldType
from shoal.spiders.item import KINDS, Item, precision_in
from shoal.spiders.spider import Spider

_LISTS = (list, tuple, set, frozenset, Sequence)
_UNIONS = (Union, types.UnionType)


def type_of(cls: type[Item]) -> ItemType:
    return ItemType(cls.__name__, _fields_of(cls, ()))


def declared_items(spider: Spider) -> tuple[type[Item], ...]:
    """The Item classes that the spider's callbacks name, without those that are only parts of others."""
    if spider.rules is not None:
        return spider.item_types
    found: dict[type[Item], None] = {}
    seen: set[CodeType] = set()
    for callback in spider.callbacks.values():
        found |= dict.fromkeys(_named_items(inspect.unwrap(callback), seen))
    parts = {part for cls in found for part in _parts_of(cls)}
    return tuple(cls for cls in found if cls not in parts)


def _named_items(function: Callable[..., Any], seen: set[CodeType]) -> Iterator[type[Item]]:
    code = getattr(function, "__code__", None)
    if code is None or code in seen:
        return
    seen.add(code)
    names = list(_names(code))
    for value in _values(function, names):
        if isinstance(value, type) and issubclass(value, Item) and value is not Item:
            yield value
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            yield from _named_items(value, seen)


def _names(code: CodeType) -> Iterator[str]:
    """The global, attribute and enclosing names in the code, its inner functions included."""
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _values(function: Callable[..., Any], names: list[str]) -> Iterator[Any]:
    known: Mapping[str, Any] = {**function.__globals__, **dict(_enclosed(function))}
    for name in names:
        value = known.get(name)
        yield value
        if isinstance(value, ModuleType):
            yield from (vars(value).get(attribute) for attribute in names)


def _enclosed(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        # A cell is empty until its variable has a value.
        with suppress(ValueError):
            yield name, cell.cell_contents


def _parts_of(cls: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for info in cls.model_fields.values():
        yield from (part for part in _models_in(info.annotation) if part is not cls)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _fields_of(cls: type[BaseModel], around: tuple[type, ...]) -> dict[str, FieldType]:
    declared = {
        name: _type_of(info.annotation, info.metadata, (*around, cls)) for name, info in cls.model_fields.items()
    }
    computed = cls.model_computed_fields.items()
    return declared | {name: _type_of(info.return_type, (), (*around, cls)) for name, info in computed}


def _type_of(annotation: Any, about: Sequence[Any], around: tuple[type, ...]) -> FieldType:
    """`about` is the metadata of the field, `around` the classes that it is part of."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_of(parts[0], (*about, *parts[1:]), around)
    if origin in _UNIONS:
        inner = [part for part in parts if part is not type(None)]
        return _type_of(inner[0], about, around) if len(inner) == 1 else FieldType("object")
    if origin in _LISTS or annotation in _LISTS:
        return FieldType("list", entry=_entry_of([part for part in parts if part is not ...], about, around))
    if not isinstance(annotation, type):
        return FieldType("object")
    if issubclass(annotation, BaseModel):
        return _nested(annotation, around)
    kind = next((kind for known, kind in KINDS.items() if issubclass(annotation, known)), "object")
    return FieldType(kind, precision_in(about)) if annotation is Decimal else FieldType(kind)


def _entry_of(parts: Sequence[Any], about: Sequence[Any], around: tuple[type, ...]) -> FieldType:
    found = {part: _type_of(part, about, around) for part in parts}
    return next(iter(found.values())) if len(found) == 1 else TEXT


def _nested(cls: type[BaseModel], around: tuple[type, ...]) -> FieldType:
    # An item within itself has no end, and one without fields is no column.
    fields = {} if cls in around else _fields_of(cls, around)
    return FieldType("object", fields=fields or None)
