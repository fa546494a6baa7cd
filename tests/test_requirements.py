"""pyproject.toml asks for all that a fleet imports; tests/cli/test_extras.py tries the rest."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import shoal
from tests.installed import as_installed

TOP = Path(shoal.__file__).parent
ROLES = (
    "cli/commands/up.py",
    "cli/commands/worker.py",
    "cli/commands/tend.py",
    "cli/commands/api.py",
    "fleet/**/*.py",
    "control/**/*.py",
)
NAMED_AS_TEXT = ("celery.bin.celery", "celery.bin.worker", "celery.concurrency.prefork", "kombu.transport.redis")
"""What Celery imports by names that stand in its settings or on its command line."""


def imports_of(path: Path) -> Iterator[str]:
    """Itself, and what it imports, also what only its functions do."""
    yield ".".join(path.relative_to(TOP.parent).with_suffix("").parts).removesuffix(".__init__")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_the_extra_fleet_brings_all_that_its_roles_import(tmp_path: Path) -> None:
    of_roles = [name for role in ROLES for path in TOP.glob(role) for name in imports_of(path)]
    names = dict.fromkeys([*of_roles, *NAMED_AS_TEXT])
    code = "import importlib, sys; [importlib.import_module(name) for name in sys.argv[1:]]"
    env = {**os.environ, **as_installed(tmp_path / "fleet", "fleet"), "SHOAL_REDIS_URL": "redis://127.0.0.1:1/0"}
    ran = subprocess.run([sys.executable, "-c", code, *names], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
