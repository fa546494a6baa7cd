"""Reads mutated pages with the scanner for some minutes: `make fuzz`, which compiles it with sanitizers.

It begins with short pages, cut off at every byte. Then each round takes a page, cuts, repeats and splices it with other
pages and markup, and reads the result whole and cut off. A fault ends the process, and so does a judgement other than
that of page_statistics.py. The same `--seed` with `--keep` leaves its input beside the compiled scanner.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import random
import sys
import time
from pathlib import Path

from shoal.extract.page_statistics import MAX_TAGS, shows_enough
from shoal.practice import Shop
from tests.extract.test_scan_parser import FOREIGN, SAVED, TOKENS, practice_pages

MARKUP = [token.encode() for token in (*TOKENS, *FOREIGN)]
ODD = [b"\0", b"\xff", b"\xc2", b"\xe2\x80", b"\xf0\x9f", b"&#", b"&#x", b"&Counter", b"<!", b"<![CDATA", b"</", b"--!"]


class Scanner:
    def __init__(self, folder: Path, keep: bool) -> None:
        sys.path.insert(0, str(folder))
        self._module = importlib.import_module("_scan_page")
        self._last = folder / "last.html" if keep else None

    def read(self, html: bytes) -> None:
        if self._last is not None:
            self._last.write_bytes(html)
        # Bytes have a zero behind their end: reading it would not be noticed. An array ends where its memory does.
        array = (ctypes.c_char * len(html)).from_buffer_copy(html)
        self._module.scan(array, 1_000, 100_000)
        is_enough = self._module.shows_enough(array, 10_000, MAX_TAGS, 400, 10)
        assert is_enough == shows_enough(html, 10_000, MAX_TAGS, 400, 10)


def mutated(draw: random.Random, pages: list[bytes]) -> bytes:
    page = bytearray(draw.choice(pages))
    for _ in range(draw.randint(1, 8)):
        at, until = sorted((draw.randint(0, len(page)), draw.randint(0, len(page))))
        until = min(until, at + draw.choice((1, 4, 40, 400)))
        other = draw.choice(pages)
        start = draw.randint(0, len(other))
        page[at:until] = draw.choice(
            (
                b"",
                draw.choice(MARKUP),
                draw.choice(ODD),
                bytes(page[at:until]) * 3,
                other[start : start + draw.choice((3, 30, 300))],
                draw.randbytes(draw.choice((1, 3, 9))),
                b"".join(draw.choices(MARKUP, k=20)),
            )
        )
    return bytes(page[draw.randint(0, len(page)) :][:20_000])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the compiled scanner is")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    scanner = Scanner(asked.folder, asked.keep)
    draw = random.Random(asked.seed)
    pages = [*(path.read_bytes() for path in SAVED), *practice_pages(Shop(hosts=1)), b"".join(MARKUP)]
    end, read = time.monotonic() + asked.seconds, 0
    print(f"seed {asked.seed}")
    for short in (b"".join(MARKUP + ODD), *draw.sample(pages, 3)):
        for size in range(min(len(short), 6_000)):
            scanner.read(short[:size])
    while time.monotonic() < end:
        page = mutated(draw, pages)
        for size in (len(page), draw.randint(0, len(page)), draw.randint(0, len(page))):
            scanner.read(page[:size])
            read += 1
    print(f"{read:,} pages read without a fault")


if __name__ == "__main__":
    main()
