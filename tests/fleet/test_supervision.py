"""A part of `shoal up`, looked after by itself."""

from __future__ import annotations

import time
from pathlib import Path

from shoal.fleet.supervision import Part


def test_a_part_whose_log_was_removed_is_looked_after_all_the_same(tmp_path: Path) -> None:
    part = Part("sleeper", ["sleep", "60"], {"PATH": "/usr/bin:/bin"}, tmp_path, lambda _: time.monotonic(), 1.0)
    part.start()
    try:
        part.log.unlink()
        assert part.look(60) is None and part.pid is not None
    finally:
        part.kill()
