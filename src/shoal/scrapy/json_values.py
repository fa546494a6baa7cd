"""Values of a request as JSON, and back. What JSON has not is tagged with its kind; nothing is ever run as code."""

from __future__ import annotations

import base64
import datetime as dt
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from itemadapter import ItemAdapter, is_item

from shoal.errors import UsageError

TAG = "$shoal"
_PAGE_METHOD = "scrapy_playwright.page.PageMethod"


class NotSerializable(UsageError):
    """A value that cannot be kept in the frontier."""


def to_json(value: Any, where: str) -> Any:
    """`where` names the value in the error. Raises NotSerializable."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) is list:
        return [to_json(each, f"{where}[{place}]") for place, each in enumerate(value)]
    if type(value) is dict:
        return _object(value, where)
    # lxml's texts are a subclass of str that holds its whole page.
    if isinstance(value, str):
        return str(value)
    return _tagged(value, where)


def _object(value: dict[Any, Any], where: str) -> dict[str, Any]:
    if TAG not in value and all(isinstance(key, str) for key in value):
        return {str(key): to_json(each, f"{where}[{key!r}]") for key, each in value.items()}
    pairs = [[to_json(key, where), to_json(each, f"{where}[{key!r}]")] for key, each in value.items()]
    return {TAG: "dict", "v": pairs}


def _tagged(value: Any, where: str) -> dict[str, Any]:
    cls = type(value)
    if cls is bytes:
        return {TAG: "bytes", "v": base64.b64encode(value).decode()}
    if cls in (tuple, set, frozenset):
        return {TAG: cls.__name__, "v": [to_json(each, where) for each in value]}
    if cls in (dt.datetime, dt.date):
        return {TAG: cls.__name__, "v": value.isoformat()}
    if cls is Decimal:
        return {TAG: "Decimal", "v": str(value)}
    path = f"{cls.__module__}.{cls.__qualname__}"
    if path == _PAGE_METHOD and isinstance(value.method, str):
        return {TAG: "PageMethod", "v": to_json([value.method, list(value.args), value.kwargs], where)}
    if is_item(value):
        return {TAG: "item", "c": path, "v": to_json(dict(ItemAdapter(value)), where)}
    raise NotSerializable(f"{where} is a {path}, which JSON cannot hold: pass texts, numbers, lists, dicts or items")


def from_json(value: Any) -> Any:
    """Raises ValueError for anything that `to_json` does not give."""
    if type(value) is list:
        return [from_json(each) for each in value]
    if type(value) is not dict:
        return value
    if TAG not in value:
        return {key: from_json(each) for key, each in value.items()}
    if value[TAG] == "item":
        return _item_class(value["c"])(**from_json(value["v"]))
    read = _READERS.get(value[TAG])
    if read is None:
        raise ValueError(f"an unknown kind of value: {value[TAG]!r}")
    return read(value["v"])


def _page_method(value: list[Any]) -> Any:
    from scrapy_playwright.page import PageMethod  # type: ignore[import-not-found]

    method, args, kwargs = from_json(value)
    return PageMethod(method, *args, **kwargs)


_READERS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda pairs: {from_json(key): from_json(each) for key, each in pairs},
    "bytes": base64.b64decode,
    "tuple": lambda values: tuple(from_json(values)),
    "set": lambda values: set(from_json(values)),
    "frozenset": lambda values: frozenset(from_json(values)),
    "datetime": dt.datetime.fromisoformat,
    "date": dt.date.fromisoformat,
    "Decimal": Decimal,
    "PageMethod": _page_method,
}


@lru_cache(256)
def _item_class(path: str) -> Any:
    cls = loaded_class(path)
    if cls is None or not ItemAdapter.is_item_class(cls):
        raise ValueError(f"{path} is not an item class of this project")
    return cls


def loaded_class(path: str) -> type | None:
    """The class of this name, if the project has loaded its module. A name that was read from Redis imports nothing:
    otherwise whoever writes to Redis could run any module of this machine."""
    module, _, name = path.rpartition(".")
    cls = getattr(sys.modules.get(module), name, None)
    return cls if isinstance(cls, type) else None
