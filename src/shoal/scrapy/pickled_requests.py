"""Reads the entries of a scrapy-redis queue, which are pickles unless its SCHEDULER_SERIALIZER says otherwise.

A pickle may name any class or function of this machine, and run it. So only classes of a list are loaded. Nothing else
in Shoal reads pickles.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import pickle
from collections import OrderedDict
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from scrapy import FormRequest, Request
from scrapy.http import JsonRequest, XmlRpcRequest
from scrapy.utils.misc import load_object

from shoal.errors import UsageError

HARMLESS: dict[str, Any] = {
    **{f"builtins.{cls.__name__}": cls for cls in (set, frozenset)},
    **{f"datetime.{cls.__name__}": cls for cls in (dt.datetime, dt.date, dt.timezone, dt.timedelta)},
    "collections.OrderedDict": OrderedDict,
    "decimal.Decimal": Decimal,
    # Texts of links, in the meta of a CrawlSpider's requests.
    "lxml.etree._ElementUnicodeResult": str,
}


_REQUESTS = {f"{cls.__module__}.{cls.__qualname__}": cls for cls in (FormRequest, JsonRequest, XmlRpcRequest)}


class NotAllowed(ValueError):
    """A pickle names a class that is not on the list."""


class RequestReader:
    def __init__(self, allowed: Iterable[str]) -> None:
        """`allowed` are more classes that a pickle may have, as `module.Class`. Raises UsageError."""
        self._classes = dict(HARMLESS)
        for path in allowed:
            try:
                self._classes[path] = load_object(path)
            except (ImportError, NameError, ValueError) as error:
                raise UsageError(f"{path} cannot be allowed: {error}") from None

    def read(self, data: bytes) -> dict[str, Any]:
        """The fields of the request, as `Request.to_dict` gives them. Raises ValueError."""
        try:
            found = json.loads(data) if data[:1] == b"{" else _Unpickler(data, self._classes).load()
        except NotAllowed:
            raise
        except Exception as error:
            # Torn or foreign bytes make the unpickler raise almost anything.
            raise ValueError(f"it is neither a pickle nor JSON: {type(error).__name__}: {error}") from None
        if not isinstance(found, dict) or not isinstance(found.get("url"), str):
            raise ValueError("it is not a request of Scrapy")
        return found

    def request_class(self, path: str) -> Any:
        """Raises ValueError."""
        cls = _REQUESTS.get(path) or self._classes.get(path)
        if not isinstance(cls, type) or not issubclass(cls, Request):
            raise ValueError(f"it is a {path}: if you trust that class, allow it with --allow {path}")
        return cls


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, classes: dict[str, Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._classes = classes

    def find_class(self, module: str, name: str) -> Any:
        path = f"{module}.{name}"
        if path not in self._classes:
            raise NotAllowed(f"its pickle names {path}: if you trust that class, allow it with --allow {path}")
        return self._classes[path]
