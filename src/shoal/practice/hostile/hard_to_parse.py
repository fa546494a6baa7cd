"""Pages that are hard to parse: bottomless trees, floods of tags, bytes that contradict their declared encoding."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import HTML, Answer, Visit

MANY = 1_000_000
DEPTH = 100_000
WAYS = 60_000
USER, PASSWORD = "ann", "pebble"
FORMULAS = {"equals": "=HYPERLINK(1)", "plus": "+1+cmd", "minus": "-1+cmd", "at": "@SUM(1)"}
CLIMBING = "/names/..%2F..%2F..%2Fetc%2Fpasswd"
UGLY_TITLE = "Sale\r\nHTTP/1.1 200 OK\x1b[2J\x1b[31m\x07 red\x00"
_LEAF = b"<!doctype html><title>Leaf</title><h1>Leaf</h1>"
_CLIMBING_FILE = Answer(200, _LEAF, headers={"Content-Disposition": 'attachment; filename="../../etc/passwd"'})
_TEXT = "<!doctype html><title>Caf\u00e9</title><h1>Caf\u00e9</h1>"
_ODD_BODIES = {
    "lie": ("text/html; charset=utf-8", _TEXT.encode("latin-1")),
    "nul": (HTML, b"<!doctype html><title>Nu\0l</title>\0<p>a\0b<a href='/charset/l\0eaf'>x</a>"),
    "surrogates": (HTML, b"<!doctype html><title>\xed\xa0\x80 &#xD800; \xff\xfe</title><p>\xed\xb0\x80"),
    "utf-16": ("text/html", _TEXT.encode("utf-16-le")),
    "utf-16-be": ("text/html", _TEXT.encode("utf-16-be")),
    "utf-16-lie": ("text/html; charset=utf-16", _TEXT.encode()),
    "unknown": ('text/html; charset="\x01no-such"', _TEXT.encode()),
    **{name: (HTML, f"<!doctype html><title>{formula}</title>".encode()) for name, formula in FORMULAS.items()},
    "title": (HTML, f"<!doctype html><title>{UGLY_TITLE}</title><p>\x1b]0;owned\x07".encode()),
}


def hard_to_parse() -> list[Behaviour]:
    return [
        _big("A tree without bottom", "depth", lambda: b"<div>" * DEPTH + b"<p>bottom"),
        _big("Open formatting", "formatting", lambda: b"<p><b><i><u>" * (DEPTH // 4)),
        _big("A tag of a million attributes", "attributes", _many_attributes),
        _big("Ways that all go round in circles", "ways", _many_ways),
        Behaviour(
            "A million links",
            "/twisted/links/",
            {"/twisted/links/": _packed(lambda: b"<title>Links</title>" + b"<a href=leaf>x</a>" * MANY)}
            | {"/twisted/links/leaf": lambda visit: Answer(200, _LEAF)},
            ExpectedResults(pages={"/twisted/links/": 200, "/twisted/links/leaf": 200}),
        ),
        _credentials(),
        Behaviour("A name that climbs", CLIMBING, {CLIMBING: lambda visit: _CLIMBING_FILE}, _page(CLIMBING)),
        *(_odd(name, content_type, body) for name, (content_type, body) in _ODD_BODIES.items()),
    ]


def _page(path: str) -> ExpectedResults:
    return ExpectedResults(pages={path: 200})


def _many_attributes() -> bytes:
    return b"<p %s>" % b" ".join(b"a%d=%d" % (number, number) for number in range(MANY))


def _many_ways() -> bytes:
    """Each link is different, and none is worth a visit."""
    return b"".join(b"<a href=%s%d>x</a>" % (b"/round" * 8, number) for number in range(WAYS))


def _big(link_text: str, name: str, html: Callable[[], bytes]) -> Behaviour:
    path = f"/twisted/{name}.html"
    return Behaviour(link_text, path, {path: _packed(html)}, _page(path))


def _packed(html: Callable[[], bytes]) -> Callable[[Visit], Answer]:
    """Gzipped, because the page would otherwise be too large."""

    @cache
    def body() -> bytes:
        return gzip.compress(b"<!doctype html>" + html(), 6, mtime=0)

    return lambda visit: Answer(200, body(), headers={"Content-Encoding": "gzip"})


def _odd(name: str, content_type: str, body: bytes) -> Behaviour:
    path = f"/charset/{name}.html"
    return Behaviour(
        f"Odd bytes: {name}",
        path,
        {path: lambda visit: Answer(200, body, content_type)},
        _page(path),
    )


def _credentials() -> Behaviour:
    def entrance(visit: Visit) -> Answer:
        href = f"http://{USER}:{PASSWORD}@{visit.host}:{visit.port}/credentials/inside.html"
        return Answer(200, f'<!doctype html><title>Entrance</title><a href="{href}">in</a>'.encode())

    return Behaviour(
        "Credentials in a link",
        "/credentials/",
        {"/credentials/": entrance, "/credentials/inside.html": lambda visit: Answer(200, _LEAF)},
        ExpectedResults(pages={"/credentials/": 200, "/credentials/inside.html": 200}),
    )
