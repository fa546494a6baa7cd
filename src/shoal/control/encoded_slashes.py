"""Names with a `/` in a path, written as `%2F`.

A WSGI server decodes the path before the app sees it, so a name with a slash would be two segments. Here such a slash
stays apart from the others until the path is matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

_ENCODED = re.compile("%2f", re.IGNORECASE)
_MARK = "\x1f"
"""No name has this control character."""


def keeping_slashes(app: WSGIApplication) -> WSGIApplication:
    def call(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("RAW_URI", "").partition("?")[0]
        if path.startswith("/") and _ENCODED.search(path):
            segments = (unquote_to_bytes(part).decode("latin-1") for part in _ENCODED.split(path))
            environ["PATH_INFO"] = _MARK.join(segments)
        return app(environ, start_response)

    return call


def with_slashes(name: str) -> str:
    """The name as the caller meant it."""
    return name.replace(_MARK, "/")
