"""A Scrapy request as the frontier keeps it, and back: its URL is the target, everything else is JSON beside it.

Keys of the JSON object are short, because there may be millions of them:

    m  meta           k  cb_kwargs     e  errback       h  headers
    c  cookies        p  priority      d  dont_filter   f  flags
    n  encoding       t  class         a  attributes of that class
    w  this is the whole object: a note of the target is out of date
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from scrapy import Request

from shoal.scrapy.json_values import NotSerializable, from_json, loaded_class, to_json

TOKEN = "shoal_token"
"""In the meta of a request that was leased."""
_OWN_META = frozenset({TOKEN, "download_slot", "download_latency"})
"""Set while a request is downloaded, and wrong for any other request."""
WHOLE = "w"


class PackedRequest(NamedTuple):
    url: str
    host: str
    method: str
    body: bytes
    callback: str
    priority: int
    depth: int
    fields: dict[str, Any]


def pack(request: Any, spider: Any) -> PackedRequest:
    """Raises NotSerializable, with the request and the value in the message."""
    try:
        callback, fields = method_name(spider, request.callback, "callback"), _fields(request, spider)
    except NotSerializable as error:
        raise NotSerializable(f"{request}: {error}") from None
    depth = request.meta.get("depth", 0)
    host = host_of(request.url)
    return PackedRequest(request.url, host, request.method, request.body, callback, request.priority, depth, fields)


def _fields(request: Any, spider: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if meta := {key: value for key, value in request.meta.items() if key not in _OWN_META}:
        fields["m"] = to_json(meta, "meta")
    if request.cb_kwargs:
        fields["k"] = to_json(request.cb_kwargs, "cb_kwargs")
    if request.errback is not None:
        fields["e"] = method_name(spider, request.errback, "errback")
    if request.headers:
        fields["h"] = [
            [key.decode("latin1"), [value.decode("latin1") for value in values]]
            for key, values in request.headers.items()
        ]
    if request.cookies:
        fields["c"] = to_json(request.cookies, "cookies")
    if request.priority:
        fields["p"] = request.priority
    if request.dont_filter:
        fields["d"] = True
    if request.flags:
        fields["f"] = to_json(list(request.flags), "flags")
    if request.encoding != "utf-8":
        fields["n"] = request.encoding
    return fields if type(request) is Request else {**fields, **_class_fields(request)}


def _class_fields(request: Any) -> dict[str, Any]:
    cls = type(request)
    more = {name: getattr(request, name) for name in request.attributes if name not in Request.attributes}
    return {"t": f"{cls.__module__}.{cls.__qualname__}", **({"a": to_json(more, "attributes")} if more else {})}


def unpack(target: Any, callback: str, fields: dict[str, Any], spider: Any) -> Any:
    """Raises ValueError or AttributeError if this project cannot make the request."""
    cls = _request_class(fields["t"]) if "t" in fields else Request
    more = from_json(fields.get("a", {}))
    if "n" in fields:
        more["encoding"] = fields["n"]
    return cls(
        url=target.url,
        callback=_method(spider, callback),
        errback=_method(spider, fields.get("e")),
        method=target.method,
        headers=fields.get("h"),
        body=target.body or None,
        cookies=from_json(fields.get("c")),
        meta=from_json(fields.get("m")),
        cb_kwargs=from_json(fields.get("k")),
        priority=fields.get("p", 0),
        dont_filter=fields.get("d", False),
        flags=from_json(fields.get("f")),
        **more,
    )


def method_name(spider: Any, method: Any, where: str) -> str:
    if method is None:
        return ""
    name = getattr(method, "__name__", "")
    if getattr(method, "__self__", None) is spider and getattr(spider, name, None) == method:
        return str(name)
    raise NotSerializable(f"{where} {method!r} is not a method of the spider: give it a name there")


def _method(spider: Any, name: str | None) -> Any:
    if not name:
        return None
    method = getattr(spider, name)
    if getattr(method, "__self__", None) is not spider:
        raise ValueError(f"{name!r} is not a method of the spider")
    return method


@lru_cache(64)
def _request_class(path: str) -> Any:
    cls = loaded_class(path)
    if cls is None or not issubclass(cls, Request):
        raise ValueError(
            f"{path} is not a class of requests that this project imports: name it in SHOAL_REQUEST_CLASSES"
        )
    return cls


def host_of(url: str) -> str:
    """The unit of politeness: the hostname and an unusual port; for other schemes than http the scheme."""
    if not url.startswith(("http://", "https://")):
        return url.partition(":")[0]
    end = url.find("/", 8)
    return _host_of_origin(url if end < 0 else url[:end])


@lru_cache(4096)
def _host_of_origin(origin: str) -> str:
    parts = urlsplit(origin)
    host = parts.netloc.rpartition("@")[2].lower()
    return host.removesuffix(":443" if parts.scheme == "https" else ":80")
