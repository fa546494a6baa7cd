"""How much memory the processes of a browser take, from /proc."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_OWN_FIELDS = ("RssAnon:", "RssShmem:")
"""Without the mapped files, which all processes of a browser share."""
_PROC = Path("/proc")


class ProcessUse(NamedTuple):
    is_renderer: bool
    bytes: int


def tree_memory(root: int) -> dict[int, ProcessUse]:
    """pid -> its use, of the process and everything it started."""
    found: dict[int, ProcessUse] = {}
    pending = [root]
    while pending:
        pid = pending.pop()
        # Any of them may end meanwhile.
        with suppress(OSError, ValueError):
            is_renderer = b"--type=renderer" in (_PROC / str(pid) / "cmdline").read_bytes()
            # Their sandbox lets renderers start no process, and most threads are theirs.
            pending += [] if is_renderer else _children(pid)
            found[pid] = ProcessUse(is_renderer, _own_bytes(pid))
    return found


def total_memory() -> int:
    """Bytes that this machine, or the container, has."""
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return min(int(Path(limit).read_text()), _machine_memory())
    return _machine_memory()


def _machine_memory() -> int:
    return _kilobytes((_PROC / "meminfo").read_text(), ("MemTotal:",))


def _own_bytes(pid: int) -> int:
    return _kilobytes((_PROC / str(pid) / "status").read_text(), _OWN_FIELDS)


def _kilobytes(text: str, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in text.splitlines() if line.startswith(names))
    return sum(int(words[1]) for words in lines) * 1024


def _children(pid: int) -> list[int]:
    """Of all its threads: not only the first one starts processes."""
    tasks = (_PROC / str(pid) / "task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
