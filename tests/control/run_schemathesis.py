"""`make openapi`: schemathesis with all its checks against an API that runs, over a private Redis and no workers.

Too slow for every run of the tests, which hold the same document to the same configuration call by call
(`test_openapi.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from shoal.fleet.fleet import Fleet
from shoal.store.fleet.tokens import TokenScope, add_token
from tests.control.live import serving
from tests.control.test_openapi import CONFIG
from tests.fleet.by_hand import fleet_shell

EXAMPLES = 8
"""Of each call."""


async def _make_token(fleet: Fleet) -> str:
    return add_token(fleet.store, "schemathesis", TokenScope.ADMIN)


def main(options: list[str]) -> int:
    program = Path(sys.executable).with_name("schemathesis")
    with tempfile.TemporaryDirectory() as name, fleet_shell(Path(name)) as fleet:
        token = fleet.by_hand(_make_token)
        with serving({**os.environ, **fleet.environment}, fleet.folder) as (url, _):
            checks = ["--checks", "all", "--max-examples", str(EXAMPLES), "-H", f"Authorization: Bearer {token}"]
            command = [str(program), "--config-file", str(CONFIG), "run", f"{url}/openapi.json", *checks, *options]
            return subprocess.run(command, cwd=fleet.folder).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
