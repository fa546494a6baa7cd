"""Where Shoal spends its CPU time, by room: samples stacks from outside while a crawl runs.

A sample belongs to the innermost room on its stack. So the time of lexbor, ada or SQLite counts for the room that
called them. Only threads that run on a CPU are sampled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import shoal
from benchmarks.contenders import sampler
from benchmarks.measure import measure

RATE = 250
"""Samples per second."""
ARCHIVE = "store: archive"
START_UP = "start-up (imports)"
LOOP = "event loop and its threads"
INTERPRETER = "interpreter (start, end)"
_PACKAGE = f"{Path(shoal.__file__).parent}/"
_FRAME = re.compile(r" \((?P<path>.*?)(?::\d+)?\)$")


def sample_rooms(
    argv: list[str], expected: Mapping[str, int], scratch: Path, extra: Mapping[str, str]
) -> dict[str, float]:
    """Each room's share of one crawl by Shoal, largest first."""
    stacks = scratch / "stacks"
    recording = [sampler(), "record", "--full-filenames", "--format", "raw", "--rate", str(RATE), "-o", str(stacks)]
    measure([*recording, "--", *argv], expected, scratch, extra)
    return shares(stacks.read_text())


def shares(stacks: str) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[room_of(stack)] += int(count)
    return {room: count / counts.total() for room, count in counts.most_common()}


def room_of(stack: str) -> str:
    if "<frozen importlib._bootstrap>" in stack:
        return START_UP
    for frame in reversed(stack.split(";")):
        match = _FRAME.search(frame)
        path = match["path"] if match else frame
        if path.startswith(_PACKAGE):
            inside = path.removeprefix(_PACKAGE)
            return ARCHIVE if inside.startswith("store/archive/") else inside.partition("/")[0].removesuffix(".py")
        if "/pycurl/" in path:
            return "fetch"
        # The command that called the event loop is not the room that the loop works for.
        if path.endswith(("asyncio/runners.py", "concurrent/futures/thread.py")):
            return LOOP
    return INTERPRETER
