"""Invalid HTTP: endless headers, truncated bodies, contradictory lengths, or no response in time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Visit

NEVER_S = 3_600.0
DRIP_S = 0.2
UNASKED_S = 0.5
"""How long a connection stays open after a second response that the client did not request."""
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_HEADER = b"X-More: %s\r\n" % (b"x" * 1_000)
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_CHUNK = b"%x\r\n%s\r\n" % (65_536, b"x" * 65_536)


def bad_framing() -> list[Behaviour]:
    return [
        _raw(
            "Headers without end", "headers", "too_large", [_OK], itertools.repeat(b"X-More: %s\r\n" % (b"x" * 1_000))
        ),
        _raw(
            "Promises (103) without end", "interim", "too_large", itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        ),
        _raw("Go on (100) without end", "continue", "too_large", itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")),
        _raw("Chunks without end", "chunks", "too_large", [_CHUNKED], itertools.repeat(_CHUNK)),
        _raw("A body that breaks off", "truncated", "protocol", [_OK + b"Content-Length: 1000\r\n\r\n<p>That is"]),
        _raw("Chunks that break off", "torn", "protocol", [_CHUNKED + b"1000\r\n<p>That is"]),
        _raw("A chunk of no size", "unsized", "protocol", [_CHUNKED + b"many\r\n<p>Hello\r\n0\r\n\r\n"]),
        _raw("Trailers without end", "trailers", "too_large", [_CHUNKED + b"0\r\n"], itertools.repeat(_HEADER)),
        _raw("Two lengths", "lengths", "protocol", [_OK + b"Content-Length: 5\r\nContent-Length: 21\r\n\r\n<p>Hello"]),
        _raw("A coding of its own", "coding", "protocol", [_OK + b"Transfer-Encoding: cow\r\n\r\n<p>Moo"]),
        _raw("NUL in a header", "nul", "protocol", [_OK + b"X-Odd: a\0b\r\nContent-Length: 0\r\n\r\n"]),
        _raw("Something else than HTTP", "telnet", "protocol", [b"login: password: welcome\r\n"]),
        _raw("Nothing at all", "nothing", "protocol", []),
        _raw("A switch nobody asked for", "switch", "protocol", [b"HTTP/1.1 101 Switching Protocols\r\n\r\n"]),
        _nowhere(),
        _long_head(),
        _unasked(),
    ]


def slow_framing() -> list[Behaviour]:
    """Behaviours that take a visitor its full deadline."""
    silence = "/framing/silence.html"
    return [
        _raw("A drip", "drip", "timeout", [_CHUNKED], itertools.repeat(b"1\r\nx\r\n"), pause_s=DRIP_S),
        Behaviour(
            "Silence",
            silence,
            {silence: lambda visit: Answer(200, b"", delay_s=NEVER_S)},
            ExpectedResults(broken={silence: "timeout"}),
        ),
    ]


def _nowhere() -> Behaviour:
    path = "/framing/nowhere.html"
    return Behaviour(
        "A redirect to nowhere", path, {path: lambda visit: Answer(302, b"")}, ExpectedResults(pages={path: 302})
    )


def _long_head() -> Behaviour:
    """Longer than many archive readers accept, but within what a visitor must accept."""
    path = "/framing/long-head.html"
    head = {f"X-More-{number}": "x" * 1_000 for number in range(200)} | {"X-Line": "x" * 90_000}
    page = Answer(200, b"<!doctype html><title>A long head</title>", headers=head)
    return Behaviour("A head of 290 KB", path, {path: lambda visit: page}, ExpectedResults(pages={path: 200}))


def _unasked() -> Behaviour:
    """A response, followed by one that the visitor did not request; it must not take it for its next response."""
    path = "/framing/unasked.html"
    unasked = b"<!doctype html><title>Unasked</title>"
    page = b"<!doctype html><title>Asked</title>"
    pieces = [b"%sContent-Length: %d\r\n\r\n%s" % (_OK, len(body), body) for body in (page, unasked)]

    def answer(visit: Visit) -> Answer:
        return Answer(200, b"", raw=[b"".join(pieces)], pause_s=UNASKED_S)

    return Behaviour("An answer too many", path, {path: answer}, ExpectedResults(pages={path: 200}))


def _raw(link_text: str, name: str, reason: str, *pieces: Iterable[bytes], pause_s: float = 0.0) -> Behaviour:
    path = f"/framing/{name}.html"

    def answer(visit: Visit) -> Answer:
        return Answer(200, b"", raw=itertools.chain(*pieces), pause_s=pause_s)

    return Behaviour(link_text, path, {path: answer}, ExpectedResults(broken={path: reason}))
