"""The API that tells the metrics which dashboards and alerts ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.control.calling import Api, api_over
from tests.fleet.by_hand import fleet_shell


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with fleet_shell(tmp_path) as shell, api_over(shell.settings) as api:
        yield api
