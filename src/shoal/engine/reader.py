"""The process that reads what is big: asked on stdin, answering on stdout, one page or sitemap at a time.

Whatever a page does to a parser it does here: a signal, an alarm or a limit on the address space ends this process, and
whoever asked can tell from its end what happened. It ends by itself when stdin does, so it outlives nobody.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import IO, Any

from shoal.engine.reading import Ask, read_page, read_sitemap

OUT_OF_MEMORY = 75
"""The exit status that says so."""
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
    """As JSON, never as pickle: a page that took this process over must not get further."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def unpacked(frame: bytes) -> Any:
    return json.loads(frame.decode("utf-8", "surrogatepass"))


def main() -> None:
    seconds, memory_bytes = float(sys.argv[1]), int(sys.argv[2])
    if _SELF.exists():
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        with suppress(OSError):
            # If the machine itself runs out of memory, this process goes first.
            (_SELF / "oom_score_adj").write_text("1000")
    try:
        _serve(seconds)
    except BrokenPipeError:
        # Whoever asked is gone.
        return
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _serve(seconds: float) -> None:
    asked, answers = sys.stdin.buffer, sys.stdout.buffer
    # What was imported is not looked through at every collection, which would take 5 ms.
    gc.freeze()
    while (ask := read_frame(asked)) is not None and (body := read_frame(asked)) is not None:
        replies = _timed(_replies(unpacked(ask), body), seconds)
        # Not kept here too: the next page would come on top of it.
        del body
        for reply in replies:
            write_frame(answers, packed(reply))
        write_frame(answers, b"")
        # A parser that did not read to the end refers to itself, and to the page.
        gc.collect()


def _timed(replies: Iterator[Any], seconds: float) -> Iterator[Any]:
    """The alarm has no handler: it ends the process also where a parser never comes back to Python."""
    while True:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        reply = next(replies, None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if reply is None:
            return
        yield reply


def _replies(ask: list[Any] | None, body: bytes) -> Iterator[dict[str, Any]]:
    try:
        if ask is None:
            for part in read_sitemap(body):
                yield {"part": part}
        else:
            yield {"page": astuple(read_page(Ask(*ask), body))}
    except MemoryError:
        raise
    except Exception as error:
        # Told to whoever asked, as that page's end.
        yield {"fault": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main()
