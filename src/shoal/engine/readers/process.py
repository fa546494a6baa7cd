"""A reader process: takes questions on stdin and answers on stdout, one page or sitemap at a time.

Whatever a page or a rule does to a parser, it does here. A signal, an alarm or a limit on the address space ends this
process, and its exit status shows what happened. It ends by itself when stdin closes.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import astuple, replace
from pathlib import Path
from typing import IO, Any

from shoal.engine.reading.parse_page import ParseRequest, read_page, read_sitemap
from shoal.extract.parser_choice import HAS_SCANNER
from shoal.fetch.charset import to_utf8

OUT_OF_MEMORY = 75
"""Exit status for out of memory."""
WAITS_PER_SECOND = 12
"""Wall time that a page may take for each second of CPU time: on a busy machine it waits for the CPU."""
COLLECT_EVERY = 50
COLLECT_EVERY_BYTES = 256 * 1024
_LEAST_FREE_BYTES = 32 << 20
_LENGTH = struct.Struct("<I")
_SELF = Path("/proc/self")


def write_frame(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """None: the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None


def packed(value: Any) -> bytes:
    """As JSON, never as pickle: a page that took over this process must not reach the other one."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def unpacked(frame: bytes) -> Any:
    return json.loads(frame.decode("utf-8", "surrogatepass"))


def main() -> None:
    seconds, memory_bytes = float(sys.argv[1]), int(sys.argv[2])
    os.nice(int(sys.argv[3]))
    if not HAS_SCANNER:
        # Before the memory is bounded: big pages are read with it.
        importlib.import_module("lxml.etree")
    if _SELF.exists():
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        with suppress(OSError):
            # If the machine itself runs out of memory, the kernel should end this process first.
            (_SELF / "oom_score_adj").write_text("1000")
    try:
        _serve(seconds)
    except BrokenPipeError:
        # The parent is gone.
        return
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _serve(seconds: float) -> None:
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    garbage = _Garbage()
    while (question := read_frame(asked)) is not None and (body := read_frame(asked)) is not None:
        size, ask = len(body), unpacked(question)
        replies = _timed(_replies(ask, body), seconds)
        # Frees the body: the next one would come on top of it.
        del body
        for reply in replies:
            write_frame(answers, packed(reply))
        write_frame(answers, b"")
        garbage.add(ask["do"], size)


class _Garbage:
    """Collects garbage soon after a page: a parser that stopped early keeps a cycle with the page."""

    def __init__(self) -> None:
        # Excludes imported objects from every collection, which would otherwise take 5 ms.
        gc.freeze()
        self._known: set[str] = set()
        self._pages = self._bytes = 0

    def add(self, kind: str, size: int) -> None:
        self._pages += 1
        self._bytes += size
        if kind not in self._known or self._pages >= COLLECT_EVERY or self._bytes >= COLLECT_EVERY_BYTES:
            gc.collect()
            self._pages = self._bytes = 0
        if kind not in self._known:
            # The first question of a kind has loaded its modules.
            self._known.add(kind)
            gc.freeze()


def _timed(replies: Iterator[Any], seconds: float) -> Iterator[Any]:
    """The alarms have no handler: they end the process even if a parser never returns to Python."""
    while True:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, seconds * WAITS_PER_SECOND)
        reply = next(replies, None)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if reply is None:
            return
        yield reply


def _replies(ask: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    try:
        yield from _DOES[ask["do"]](ask, body)
    except MemoryError:
        raise
    except Exception as error:
        # A library may report a lack of memory as an error of its own. Then this raises MemoryError.
        bytearray(_LEAST_FREE_BYTES)
        # Reported to the parent, as this page's failure.
        yield {"fault": f"{type(error).__name__}: {error}"}


def _sitemap(_: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    for part in read_sitemap(body):
        yield {"part": part}


def _page(ask: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    how = ParseRequest(*ask["how"])
    page = read_page(how, body)
    text = None if page.text is None else page.text.decode("utf-8", "replace")
    # JSON has no bytes.
    yield {"page": astuple(replace(page, text=None)), "text": text}
    if page.text is not None and how.formats:
        yield from _formats(ask, body)


def _formats(ask: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    from shoal.extract.make_formats import make_formats

    how = ParseRequest(*ask["how"])
    for made in make_formats(to_utf8(body, how.content_type), how.url, how.formats):
        yield {"format": made}


def _rules(ask: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    from shoal.engine.reading.read_by_rules import read_by_rules

    yield read_by_rules(ask, body)


def _trial(ask: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    from shoal.engine.reading.read_by_rules import try_rules

    yield try_rules(ask, body)


def _select(ask: dict[str, Any], body: bytes) -> Iterator[dict[str, Any]]:
    from shoal.engine.reading.read_by_rules import select

    yield {"values": select(ask, body)}


_DOES: dict[str, Callable[[dict[str, Any], bytes], Iterator[dict[str, Any]]]] = {
    "sitemap": _sitemap,
    "page": _page,
    "formats": _formats,
    "rules": _rules,
    "trial": _trial,
    "select": _select,
}
"""Their imports take up to 0.2 s, and most readers need few of them."""


if __name__ == "__main__":
    main()
