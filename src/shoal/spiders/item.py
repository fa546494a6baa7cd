"""Items: typed records whose fields declare where their values come from.

    class Book(Item, key="upc"):
        title: str = css("h1")
        price: Decimal = css(".price")        # "£51.77" becomes Decimal("51.77")
        tags: list[str] = css(".tag")         # all matches
        seller: Seller | None = css(".seller")    # another Item, read below that element

item_reader.py reads items from a page. An item that cannot be made becomes a Reject with the reason.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from shoal.errors import UsageError
from shoal.extract.casts import Url
from shoal.model import ItemRecord, RejectRecord
from shoal.model.field_type import Precision
from shoal.spiders.file_field import File
from shoal.store.database.storable_text import json_text

KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
    Url: "url",
    File: "file",
    str: "text",
}


class Item(BaseModel):
    """Subclass it. `key` names the field (or fields) that identify an item within a job: the last one wins."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    key_fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, *, key: str | tuple[str, ...] = (), **named: Any) -> None:
        super().__init_subclass__(**named)

    @classmethod
    def __pydantic_init_subclass__(cls, *, key: str | tuple[str, ...] = (), **named: Any) -> None:
        names = (key,) if isinstance(key, str) else key
        for name in names:
            if name not in cls.model_fields:
                raise UsageError(f"{cls.__name__} has no field {name!r} for its key: {', '.join(cls.model_fields)}")
        if names:
            cls.key_fields = names
        for name, info in cls.model_fields.items():
            has_precision = any(isinstance(part, Precision) for part in info.metadata)
            if has_precision and unwrap_annotation(info.annotation)[0] is not Decimal:
                raise UsageError(f"{cls.__name__}.{name} has a precision, but is not a Decimal: remove one of them")
            has_sign = any(getattr(part, "decimal", None) for part in info.metadata)
            if has_sign and unwrap_annotation(info.annotation)[0] not in (int, float, Decimal):
                raise UsageError(
                    f"{cls.__name__}.{name} has a decimal separator, but is not a number: remove one of them"
                )


@dataclass(frozen=True, slots=True)
class Reject:
    type: str
    found: dict[str, Any]
    reason: str

    def record(self) -> RejectRecord:
        return RejectRecord(self.type, self.found, self.reason)


def records_of(cls: type[Item], items: Sequence[Item]) -> list[ItemRecord]:
    """Like `record_of`, for items of one class. Raises ValueError if one of them needs a closer look."""
    if cls.key_fields:
        return list(map(record_of, items))
    to_json, name = cls.__pydantic_serializer__.to_json, cls.__name__
    return [ItemRecord(name, to_json(item).decode()) for item in items]


def record_of(item: Item) -> ItemRecord:
    cls = type(item)
    try:
        # Calling the serializer directly takes two thirds of the time of model_dump_json.
        text = cls.__pydantic_serializer__.to_json(item).decode()
    except ValueError:
        # Half a surrogate pair, which UTF-8 cannot encode.
        text = json_text(item.model_dump(mode="json"))
    if not cls.key_fields:
        return ItemRecord(cls.__name__, text)
    identity = item.model_dump(mode="json", include=set(cls.key_fields))
    return ItemRecord(cls.__name__, text, "\x1f".join(str(identity[name]) for name in cls.key_fields))


def unwrap_annotation(annotation: Any) -> tuple[type, bool, bool]:
    """The plain type of an annotation, whether it is a list of it, and whether it may be None."""
    if get_origin(annotation) is Annotated:
        return unwrap_annotation(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [part for part in get_args(annotation) if part is not type(None)]
        to, many, _ = unwrap_annotation(inner[0]) if len(inner) == 1 else (object, False, False)
        return to, many, type(None) in get_args(annotation)
    if get_origin(annotation) in (list, tuple, set):
        to, _, _ = unwrap_annotation((get_args(annotation) or (str,))[0])
        return to, True, False
    return (annotation if isinstance(annotation, type) else object), False, False


def precision_in(about: Sequence[Any]) -> Precision:
    """As `precision=` or pydantic's `max_digits` and `decimal_places` say."""
    digits = places = None
    for part in about:
        if isinstance(part, Precision):
            return part
        for limit in (part, *part.metadata) if isinstance(part, FieldInfo) else (part,):
            digits = getattr(limit, "max_digits", None) or digits
            places = getattr(limit, "decimal_places", None) if places is None else places
    if places is None:
        return Precision()
    try:
        return Precision(digits or Precision().digits, places)
    except ValueError:
        return Precision()
