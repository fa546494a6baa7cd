"""`shoal` in a directory of its own without a process of its own: a start takes longer than most commands do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cli.conftest import Ran, Shell
from tests.cli.in_process import run_here


@dataclass
class ShellHere(Shell):
    """Commands run in this process; what is started is another all the same."""

    @property
    def environment(self) -> dict[str, str]:
        """All that a command is told."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        return {**clean, "HOME": str(self.folder), "COLUMNS": "80"}

    def start(self, *args: str, env: Mapping[str, str] = {}, **named: Any) -> subprocess.Popen[str]:
        return super().start(*args, env={**self.environment, **env}, **named)

    def __call__(self, *args: str, input: str | None = None, env: Mapping[str, str] = {}, **_: Any) -> Ran:
        with pytest.MonkeyPatch.context() as patched:
            # The folder of a spider is added to it.
            patched.setattr(sys, "path", [*sys.path])
            return run_here(self.folder, {**self.environment, **env}, *args, input=input)

    def apart(self, *args: str, **named: Any) -> Ran:
        """In a process of its own, for what a process keeps until it ends."""
        return super().__call__(*args, **named)
