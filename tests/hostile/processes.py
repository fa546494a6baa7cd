"""The processes that read for a crawl, as seen from outside."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tests.cli.crawling import until


def readers_of(pid: int) -> set[int]:
    return children_of(pid, b"shoal.engine.readers.process")


def children_of(pid: int, words: bytes) -> set[int]:
    """Those whose command has these words. Asked of the kernel: to look at every process takes as long as a test."""
    found = set()
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            found |= {int(child) for child in thread.read_text().split() if words in _command(child)}
    return found


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def reader_of(pid: int) -> int:
    """The first, as soon as there is one."""
    return min(until(lambda: readers_of(pid)))


def is_gone(pid: int) -> bool:
    """Also of one that has ended and waits for whoever inherited it to notice."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True
