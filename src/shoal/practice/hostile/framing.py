"""Answers that are no proper HTTP: too much of it, too little, two lengths at once, or none in time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from shoal.practice.habits import Habit
from shoal.practice.truth import HostTruth
from shoal.practice.visit import Answer, Visit

NEVER_S = 3_600.0
DRIP_S = 0.2
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
_HEADER = b"X-More: %s\r\n" % (b"x" * 1_000)
_CHUNKED = _OK + b"Transfer-Encoding: chunked\r\n\r\n"
_CHUNK = b"%x\r\n%s\r\n" % (65_536, b"x" * 65_536)


def bad_framing() -> list[Habit]:
    return [
        _raw(
            "Headers without end", "headers", "too_large", [_OK], itertools.repeat(b"X-More: %s\r\n" % (b"x" * 1_000))
        ),
        _raw(
            "Promises (103) without end", "interim", "too_large", itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        ),
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
    ]


def slow_framing() -> list[Habit]:
    """What takes a visitor its whole deadline."""
    silence = "/framing/silence.html"
    return [
        _raw("A drip", "drip", "timeout", [_CHUNKED], itertools.repeat(b"1\r\nx\r\n"), pause_s=DRIP_S),
        Habit(
            "Silence",
            silence,
            {silence: lambda visit: Answer(200, b"", delay_s=NEVER_S)},
            HostTruth(broken={silence: "timeout"}),
        ),
    ]


def _nowhere() -> Habit:
    path = "/framing/nowhere.html"
    return Habit("A redirect to nowhere", path, {path: lambda visit: Answer(302, b"")}, HostTruth(pages={path: 302}))


def _raw(says: str, name: str, reason: str, *pieces: Iterable[bytes], pause_s: float = 0.0) -> Habit:
    path = f"/framing/{name}.html"

    def answer(visit: Visit) -> Answer:
        return Answer(200, b"", raw=itertools.chain(*pieces), pause_s=pause_s)

    return Habit(says, path, {path: answer}, HostTruth(broken={path: reason}))
