"""The requests and answers of a practice site.

A site is a function from one to the other. `Routes` is the usual one: a table from path patterns to sites.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


class Visit(NamedTuple):
    """One HTTP request, seen from the site."""

    host: str
    """The address that the visitor connected to, whatever the Host header says."""
    port: int
    method: str
    target: str
    path: str
    query: str
    headers: Mapping[str, str]
    """Names in lower case; a repeated header has its last value."""
    body: bytes = b""

    def origin(self, host: str) -> str:
        return f"http://{host}:{self.port}"


class Answer(NamedTuple):
    status: int
    body: bytes
    content_type: str = HTML
    headers: Mapping[str, str] = {}
    delay_s: float = 0.0
    raw: Iterable[bytes] | None = None
    """The complete answer as bytes, including the head, instead of all other fields; then the connection is closed."""
    pause_s: float = 0.0
    """The pause after each piece of `raw`."""


Site = Callable[[Visit], Answer]


class Routes:
    """Path patterns and the sites that answer them. A pattern that ends in `*` is a prefix; exact paths come first.

    Patterns are for GET and HEAD. Other methods have patterns of their own: `POST /login`.
    """

    def __init__(self, table: Mapping[str, Site]) -> None:
        self._exact = {pattern: site for pattern, site in table.items() if not pattern.endswith("*")}
        self._prefixes = [(pattern[:-1], site) for pattern, site in table.items() if pattern.endswith("*")]

    def answer(self, visit: Visit) -> Answer:
        if visit.method not in ("GET", "HEAD"):
            other = self._exact.get(f"{visit.method} {visit.path}")
            return other(visit) if other else Answer(405, b"only GET and HEAD\n", PLAIN, {"Allow": "GET, HEAD"})
        exact = self._exact.get(visit.path)
        if exact:
            return exact(visit)
        for prefix, site in self._prefixes:
            if visit.path.startswith(prefix):
                return site(visit)
        return not_found(visit)


def not_found(visit: Visit) -> Answer:
    return Answer(404, b"<!doctype html><title>Not found</title><h1>There is no such page</h1>")


def redirect(status: int, location: str) -> Site:
    return lambda visit: Answer(status, b"", headers={"Location": location})
