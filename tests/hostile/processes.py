"""The processes that read for a crawl, as seen from outside."""

from __future__ import annotations

from pathlib import Path

from tests.cli.crawling import until


def readers_of(pid: int) -> set[int]:
    return children_of(pid, b"shoal.engine.readers.process")


def children_of(pid: int, words: bytes) -> set[int]:
    """Those whose command has these words."""
    return {child for child, parent in _processes(words).items() if parent == pid}


def reader_of(pid: int) -> int:
    """The first, as soon as there is one."""
    return min(until(lambda: readers_of(pid)))


def is_gone(pid: int) -> bool:
    """Also of one that has ended and waits for whoever inherited it to notice."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _processes(words: bytes) -> dict[int, int]:
    """Process -> its parent."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if words in (entry / "cmdline").read_bytes():
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found
