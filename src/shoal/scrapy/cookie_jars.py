"""Cookies of a crawl, shared by its processes and kept over a kill: they are saved before the requests they lead to.

Scrapy's CookiesMiddleware has a jar for each `cookiejar` of a request's meta. A cookie is a name and a JSON text here.
"""

from __future__ import annotations

import json
from http.cookiejar import Cookie
from typing import Any, Protocol

from scrapy.downloadermiddlewares.cookies import CookiesMiddleware

_FIELDS = (
    *("version", "name", "value", "port", "port_specified", "domain", "domain_specified", "domain_initial_dot"),
    *("path", "path_specified", "secure", "expires", "discard", "comment", "comment_url"),
)


class CookieKeeper(Protocol):
    async def save(self, changed: dict[str, str]) -> None: ...

    async def load(self) -> dict[str, str]: ...

    def forget(self) -> None:
        """The crawl has ended."""


class CookieJars:
    """The jars of the middleware, in the reactor's thread."""

    def __init__(self, engine: Any) -> None:
        middlewares = engine.downloader.middleware.middlewares
        found = [each for each in middlewares if isinstance(each, CookiesMiddleware)]
        self._jars: Any = found[0].jars if found else {}
        self._known: dict[str, str] = {}
        self._is_dirty = False

    def notice(self, response: Any) -> None:
        self._is_dirty = self._is_dirty or b"Set-Cookie" in response.headers

    def changed(self) -> dict[str, str]:
        """The cookies that no process has seen yet."""
        if not self._is_dirty:
            return {}
        self._is_dirty = False
        changed = {}
        for jar_key, jar in list(self._jars.items()):
            for cookie in jar:
                name = json.dumps([jar_key, cookie.domain, cookie.path, cookie.name], default=str)
                text = json.dumps([getattr(cookie, field) for field in _FIELDS])
                if self._known.get(name) != text:
                    changed[name] = text
        self._known |= changed
        return changed

    def put(self, cookies: dict[str, str]) -> None:
        for name, text in cookies.items():
            if self._known.get(name) != text:
                self._known[name] = text
                fields = dict(zip(_FIELDS, json.loads(text), strict=True))
                self._jars[json.loads(name)[0]].jar.set_cookie(Cookie(**fields, rest={}))
