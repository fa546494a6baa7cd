"""The command without a process of its own, for tests of what it says: a start takes longer than most of them."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoal.cli import main
from tests.cli.conftest import Ran


def run_here(folder: Path, environment: Mapping[str, str], *args: str, input: str | None = None) -> Ran:
    """`shoal` as in a folder and with nothing but this environment."""
    unset: dict[str, str | None] = dict.fromkeys(os.environ.keys() - environment.keys())
    threshold = gc.get_threshold()
    with (
        chdir(folder),
        pytest.MonkeyPatch.context() as patched,
        CliRunner().isolation(input or "", {**unset, **environment}) as (out, err, _),
    ):
        patched.setattr(sys, "argv", ["shoal", *args])
        with pytest.raises(SystemExit) as ended:
            main()
        sys.stdout.flush()
        sys.stderr.flush()
        ran = Ran(int(ended.value.code or 0), out.getvalue().decode(), err.getvalue().decode())
    gc.set_threshold(*threshold)
    return ran
