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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from selectolax.lexbor import LexborNode

from shoal.errors import UsageError
from shoal.extract.casts import Url, cast, castable
from shoal.extract.faults import CastError
from shoal.extract.selectors import Css
from shoal.model import ItemRecord, ItemType, RejectRecord
from shoal.spiders.gathering import records_of
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
    make: Callable[[Any, str], Any]
    """From what was found to the value; raises CastError."""
    css: Css | None
    """The selector of a field that can be read for many records at once."""


_NOT_SEARCHED: Any = object()


class Missing(ValueError):
    pass


class Plan:
    """How one Item class is read."""

    def __init__(self, cls: type[Item]) -> None:
        self._cls = cls
        self.slots = [_slot(cls, name) for name in cls.model_fields if _pick_of(cls, name) is not None]

    def read_each(self, places: list[Place], root: LexborNode, base_url: str) -> Iterator[Item | Reject]:
        """Of each place an item; quicker than one by one where there are many."""
        records = records_of(places, root)
        gathered: dict[str, list[LexborNode | None]] = {}
        if records is not None:
            gathered = {slot.name: records.first_of(slot.css) for slot in self.slots if slot.css}
        for number, place in enumerate(places):
            yield self.read(place, base_url, {name: nodes[number] for name, nodes in gathered.items()})

    def read(
        self, place: Place, base_url: str, nodes: Mapping[str, LexborNode | None] = MappingProxyType({})
    ) -> Item | Reject:
        """`nodes` has the elements of fields that have been searched for already."""
        found: dict[str, Any] = {}
        faults: list[str] = []
        for slot in self.slots:
            try:
                node = nodes.get(slot.name, _NOT_SEARCHED)
                if node is _NOT_SEARCHED:
                    value = slot.read(place, base_url)
                else:
                    value = _of_node(slot, node, place, base_url)
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


def _of_node(slot: Slot, node: LexborNode | None, place: Place, base_url: str) -> Any:
    if node is None:
        return None
    assert slot.css is not None
    raw = slot.css.read(node)
    if raw is None:
        # It lacks the attribute, which another element that matches may have.
        return slot.read(place, base_url)
    return slot.make(raw, base_url) if raw else None


def _nested(cls: type[Item], place: Place, base_url: str) -> Item:
    inner = plan_of(cls).read(place, base_url)
    if isinstance(inner, Reject):
        raise Missing(f"{inner.type}: {inner.reason}")
    return inner


def _maker_of(to: type) -> Callable[[Any, str], Any]:
    """From what a selector gives to a value of the field's type; decided once, for a page reads hundreds."""

    def as_text(raw: Any, base_url: str) -> Any:
        return raw if isinstance(raw, str) else str(raw)

    def as_cast(raw: Any, base_url: str) -> Any:
        # JSON values that have a type of their own are left to pydantic.
        return cast(raw, to, base_url=base_url) if isinstance(raw, str) else raw

    return as_text if to is str else as_cast if castable(to) else lambda raw, base_url: raw


def _read_of(picked: Pick, to: type, many: bool, make: Callable[[Any, str], Any]) -> Read:
    if issubclass(to, Item):
        return _nested_read(picked, to, many)
    values, first = picked.values, picked.reader()

    def read_all(place: Place, base_url: str) -> list[Any]:
        return [make(raw, base_url) for raw in values(place) if raw is not None and raw != ""]

    def read_one(place: Place, base_url: str) -> Any:
        raw = first(place)
        return None if raw is None or raw == "" else make(raw, base_url)

    return read_all if many else read_one


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
    make = _maker_of(to)
    gatherable = isinstance(picked.how, Css) and not many and not issubclass(to, Item) and "," not in picked.text
    return Slot(
        name=name,
        pick=picked,
        to=to,
        many=many,
        optional=optional,
        has_default=not info.is_required(),
        read=_read_of(picked, to, many, make),
        make=make,
        css=picked.how if isinstance(picked.how, Css) and gatherable else None,
    )


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
