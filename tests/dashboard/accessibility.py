"""Checks an open page with axe-core. `make servers` installs it from npm into .venv."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.chromium import Tab

_SCRIPT = Path(__file__).parents[2] / ".venv/axe/node_modules/axe-core/axe.min.js"
_RUN = "axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations))"


@cache
def _axe() -> str:
    if not _SCRIPT.exists():
        words = "axe-core is not installed: `make servers` installs it, with npm"
        assert os.environ.get("CI") != "true", words
        pytest.skip(words)
    return _SCRIPT.read_text()


def violations(tab: Tab) -> list[str]:
    """Every rule of axe-core that the page breaks, with the first elements."""
    if not tab.js("'axe' in window"):
        tab.js(f"{_axe()}; 1")
    found: list[dict[str, Any]] = json.loads(tab.js(_RUN))
    return [
        f"{rule['id']}: {rule['help']}: {[node['html'][:150] for node in rule['nodes'][:3]]}"
        f" {rule['nodes'][0].get('failureSummary', '')}"
        for rule in found
    ]
