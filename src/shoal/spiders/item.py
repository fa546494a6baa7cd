"""Items: typed records whose fields say where they come from.

    class Book(Item, key="upc"):
        title: str = css("h1")
        price: Decimal = css(".price")        # "£51.77" becomes Decimal("51.77")
        tags: list[str] = css(".tag")         # all that match
        seller: Seller | None = css(".seller")    # another Item, picked below that element

How a class is read off a page is planned once. An item that cannot be made is a Reject with the reason, never an
exception: its siblings on the page are not lost.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from shoal.errors import UsageError
from shoal.extract.casts import Url, cast, castable
from shoal.extract.faults import CastError
from shoal.model import ItemRecord, ItemType, RejectRecord
from shoal.spiders.picks import Pick, Place

KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
    Url: "url",
    str: "text",
}


class Item(BaseModel):
    """Subclass it. `key` names the field (or fields) that make two items of a job the same: the last one wins."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    key_fields: ClassVar[tuple[str, ...]] = ()
    _plan: ClassVar[Plan | None] = None

    def __init_subclass__(cls, *, key: str | tuple[str, ...] = (), **named: Any) -> None:
        super().__init_subclass__(**named)

    @classmethod
    def __pydantic_init_subclass__(cls, *, key: str | tuple[str, ...] = (), **named: Any) -> None:
        names = (key,) if isinstance(key, str) else key
        for name in names:
            if name not in cls.model_fields:
                raise UsageError(f"{cls.__name__} has no field {name!r} to be its key: {', '.join(cls.model_fields)}")
        if names:
            cls.key_fields = names


@dataclass(frozen=True, slots=True)
class Reject:
    type: str
    found: dict[str, Any]
    reason: str

    def record(self) -> RejectRecord:
        return RejectRecord(self.type, self.found, self.reason)


Read = Callable[[Place, str], Any]
"""A place and the page's base URL -> a value, None if there is none; raises CastError or Missing."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One field: where from, and what to make of it."""

    name: str
    pick: Pick
    to: type
    many: bool
    optional: bool
    has_default: bool
    read: Read


class Missing(ValueError):
    pass


class Plan:
    """How one Item class is read."""

    def __init__(self, cls: type[Item]) -> None:
        self._cls = cls
        self.slots = [_slot(cls, name) for name in cls.model_fields if _pick_of(cls, name) is not None]

    def read(self, place: Place, base_url: str) -> Item | Reject:
        found: dict[str, Any] = {}
        faults: list[str] = []
        for slot in self.slots:
            try:
                value = slot.read(place, base_url)
                if value is None and not slot.optional and not slot.has_default:
                    raise Missing(f"nothing matches {slot.pick.text!r}")
            except (CastError, Missing) as error:
                faults.append(f"{slot.name}: {error}")
                continue
            if value is not None or not slot.has_default:
                found[slot.name] = value
        if faults:
            return Reject(self._cls.__name__, _shown(found), "; ".join(faults))
        try:
            return self._cls(**found)
        except ValidationError as error:
            return Reject(self._cls.__name__, _shown(found), _in_words(error))


def plan_of(cls: type[Item]) -> Plan:
    plan = cls.__dict__.get("_plan")
    if plan is None:
        plan = cls._plan = Plan(cls)
    return plan


def record_of(item: Item) -> ItemRecord:
    data = item.model_dump(mode="json")
    key = "\x1f".join(str(data[name]) for name in item.key_fields) if item.key_fields else None
    return ItemRecord(type(item).__name__, data, key)


def type_of(cls: type[Item]) -> ItemType:
    return ItemType(cls.__name__, {name: _kind(info.annotation) for name, info in cls.model_fields.items()})


def _nested(cls: type[Item], place: Place, base_url: str) -> Item:
    inner = plan_of(cls).read(place, base_url)
    if isinstance(inner, Reject):
        raise Missing(f"{inner.type}: {inner.reason}")
    return inner


def _read_of(picked: Pick, to: type, many: bool) -> Read:
    """Decided once per field: a page of records reads hundreds."""
    if issubclass(to, Item):
        return _nested_read(picked, to, many)
    values, first = picked.values, picked.reader()

    def made(raw: Any, base_url: str) -> Any:
        if isinstance(raw, str):
            return cast(raw, to, base_url=base_url) if castable(to) else raw
        # JSON values that have a type of their own are left to pydantic.
        return str(raw) if to is str else raw

    def read_all(place: Place, base_url: str) -> list[Any]:
        return [made(raw, base_url) for raw in values(place) if raw is not None and raw != ""]

    def read_one(place: Place, base_url: str) -> Any:
        raw = first(place)
        return None if raw is None or raw == "" else made(raw, base_url)

    def read_text(place: Place, base_url: str) -> Any:
        raw = first(place)
        return raw or None if isinstance(raw, str) or raw is None else str(raw)

    return read_all if many else read_text if to is str else read_one


def _nested_read(picked: Pick, cls: type[Item], many: bool) -> Read:
    def read_all(place: Place, base_url: str) -> list[Item]:
        return [_nested(cls, inner, base_url) for inner in picked.places(place)]

    def read_one(place: Place, base_url: str) -> Item | None:
        inner = next(picked.places(place), None)
        return None if inner is None else _nested(cls, inner, base_url)

    return read_all if many else read_one


def _pick_of(cls: type[Item], name: str) -> Pick | None:
    return next((part for part in cls.model_fields[name].metadata if isinstance(part, Pick)), None)


def _slot(cls: type[Item], name: str) -> Slot:
    info = cls.model_fields[name]
    picked = _pick_of(cls, name)
    assert picked is not None
    to, many, optional = _shape(info.annotation)
    return Slot(name, picked, to, many, optional, not info.is_required(), _read_of(picked, to, many))


def _shape(annotation: Any) -> tuple[type, bool, bool]:
    """The plain type behind an annotation, whether it is a list of them, whether it may be None."""
    if get_origin(annotation) is Annotated:
        return _shape(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        to, many, _ = _shape(inner[0]) if len(inner) == 1 else (object, False, False)
        return to, many, type(None) in get_args(annotation)
    if get_origin(annotation) in (list, tuple, set):
        to, _, _ = _shape((get_args(annotation) or (str,))[0])
        return to, True, False
    return (annotation if isinstance(annotation, type) else object), False, False


def _kind(annotation: Any) -> str:
    to, many, _ = _shape(annotation)
    if many:
        return "list"
    return next((kind for known, kind in KINDS.items() if issubclass(to, known)), "object")


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    """What was found, as JSON has it."""
    return {name: value if isinstance(value, str | int | float | None) else str(value) for name, value in found.items()}


def _in_words(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
