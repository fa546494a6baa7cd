"""The command without a process of its own, for tests of what it says: a start takes longer than most of them."""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from shoal.cli import main


@dataclass
class Ran:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def summary(self) -> dict[str, Any]:
        (found,) = (line for line in self.lines if line.get("type") == "summary")
        return found


def run_here(folder: Path, environment: Mapping[str, str], *args: str, input: str | None = None) -> Ran:
    """`shoal` as in a folder and with nothing but this environment."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    unset: dict[str, str | None] = dict.fromkeys(os.environ.keys() - environment.keys())
    with (
        chdir(folder),
        _as_it_was(folder),
        pytest.MonkeyPatch.context() as patched,
        CliRunner().isolation(input or "", {**unset, **environment}) as (out, err, _),
    ):
        patched.setattr(sys, "argv", ["shoal", *args])
        patched.setattr(sys, "path", [*sys.path])
        with pytest.raises(SystemExit) as ended:
            main()
        assert signal.getsignal(signal.SIGINT) == on_interrupt, "Ctrl-C would not end it any more"
        sys.stdout.flush()
        sys.stderr.flush()
        return Ran(int(ended.value.code or 0), out.getvalue().decode(), err.getvalue().decode())


@contextmanager
def _as_it_was(folder: Path) -> Iterator[None]:
    """Whoever comes next finds neither this one's log and collector nor what it loaded from its folder."""
    threshold, before, log = gc.get_threshold(), set(sys.modules), logging.getLogger("shoal")
    handlers, level, propagate = log.handlers, log.level, log.propagate
    yield
    log.handlers, log.propagate = handlers, propagate
    log.setLevel(level)
    gc.unfreeze()
    gc.set_threshold(*threshold)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(folder)):
            del sys.modules[name]
