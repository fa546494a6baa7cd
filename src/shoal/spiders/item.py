"""Items: typed records whose fields say where they come from.

    class Book(Item, key="upc"):
        title: str = css("h1")
        price: Decimal = css(".price")        # "£51.77" becomes Decimal("51.77")
        tags: list[str] = css(".tag")         # all that match
        seller: Seller | None = css(".seller")    # another Item, picked below that element

How a class is read off a page is planned in plan.py. What cannot be made is a Reject with the reason.
"""

from __future__ import annotations

import types
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from shoal.errors import UsageError
from shoal.extract.casts import Url
from shoal.model import ItemRecord, ItemType, RejectRecord
from shoal.store.text import json_text

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


def record_of(item: Item) -> ItemRecord:
    cls = type(item)
    try:
        # Asked itself, pydantic takes two thirds of the time of model_dump_json.
        text = cls.__pydantic_serializer__.to_json(item).decode()
    except ValueError:
        # Half a surrogate pair, which JSON in UTF-8 cannot carry.
        text = json_text(item.model_dump(mode="json"))
    if not cls.key_fields:
        return ItemRecord(cls.__name__, text)
    identity = item.model_dump(mode="json", include=set(cls.key_fields))
    return ItemRecord(cls.__name__, text, "\x1f".join(str(identity[name]) for name in cls.key_fields))


def type_of(cls: type[Item]) -> ItemType:
    return ItemType(cls.__name__, {name: _kind(info.annotation) for name, info in cls.model_fields.items()})


def shape_of(annotation: Any) -> tuple[type, bool, bool]:
    """The plain type behind an annotation, whether it is a list of them, whether it may be None."""
    if get_origin(annotation) is Annotated:
        return shape_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        to, many, _ = shape_of(inner[0]) if len(inner) == 1 else (object, False, False)
        return to, many, type(None) in get_args(annotation)
    if get_origin(annotation) in (list, tuple, set):
        to, _, _ = shape_of((get_args(annotation) or (str,))[0])
        return to, True, False
    return (annotation if isinstance(annotation, type) else object), False, False


def _kind(annotation: Any) -> str:
    to, many, _ = shape_of(annotation)
    if many:
        return "list"
    return next((kind for known, kind in KINDS.items() if issubclass(to, known)), "object")
