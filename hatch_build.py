"""Compiles the page scanner when Shoal is installed. Where that fails, Shoal is installed without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledScanner(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        ran = subprocess.run([sys.executable, "build_scanner.py"], cwd=self.root, capture_output=True, text=True)
        if ran.returncode:
            self.app.display_warning(f"installing without the compiled page scanner: {ran.stderr.strip()}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        # Git ignores it, and hatchling what Git ignores.
        build_data["artifacts"].append(Path(ran.stdout.strip()).relative_to(Path(self.root).resolve()).as_posix())
