"""Bodies with truncated, corrupt or inconsistent compression, and redirects whose bodies cannot be decoded."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterable, Mapping

import brotli
import zstandard

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Visit

TITLE = "Most of it"
BROKEN = tuple(f"/coding/{name}.html" for name in ("gzip", "deflate", "br", "zstd", "checksum"))
"""Pages, as far as they can be decoded."""
_LANDING = "/good/1.html"


def broken_codings() -> list[Behaviour]:
    """The same bytes in every run: random words do not compress, and the title comes first."""
    words = random.Random(1).randbytes(120_000).hex()
    page = f"<!doctype html><title>{TITLE}</title><p>{words}".encode()
    packed = {"gzip": gzip.compress(page, mtime=0), "deflate": zlib.compress(page)}
    packed |= {"br": brotli.compress(page, quality=1), "zstd": zstandard.compress(page)}
    # zstd can decode only complete blocks, of 128 KiB each.
    cut = [_broken(name, name, body[: len(body) * 3 // 4]) for name, body in packed.items()]
    wrong_sum = packed["gzip"][:-8] + bytes(4) + packed["gzip"][-4:]
    nonsense = Behaviour(
        "What was never packed",
        "/coding/nonsense.html",
        {"/coding/nonsense.html": lambda visit: Answer(200, page, headers={"Content-Encoding": "br"})},
        ExpectedResults(broken={"/coding/nonsense.html": "undecodable"}),
    )
    return [*cut, _broken("checksum", "gzip", wrong_sum), nonsense, *_redirects()]


def _broken(name: str, coding: str, body: bytes) -> Behaviour:
    path = f"/coding/{name}.html"
    answer = Answer(200, body, headers={"Content-Encoding": coding})
    return Behaviour(f"Broken coding: {name}", path, {path: lambda visit: answer}, ExpectedResults(pages={path: 200}))


def _redirects() -> list[Behaviour]:
    torn = b"HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 1000\r\n\r\n<p>That is" % _LANDING.encode()
    coded = {"Location": _LANDING, "Content-Encoding": "gzip"}
    return [_redirect("torn", raw=[torn]), _redirect("coded", body=b"not gzip", headers=coded)]


def _redirect(
    name: str, body: bytes = b"", headers: Mapping[str, str] = {}, raw: Iterable[bytes] | None = None
) -> Behaviour:
    path = f"/coding/moved-{name}"

    def answer(visit: Visit) -> Answer:
        return Answer(302, body, headers={"Location": _LANDING, **headers}, raw=raw)

    return Behaviour(
        f"Moved, with a body that is {name}", path, {path: answer}, ExpectedResults(redirects={path: _LANDING})
    )
