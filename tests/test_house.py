"""The picture of the house in ARCHITECTURE.md, held to: imports go only to a lower level, and embedded stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import shoal

TOP = Path(shoal.__file__).parent
LEVELS = {
    **dict.fromkeys(
        (
            *("errors", "model", "urls", "settings", "telemetry", "client", "object_store", "sqlite_file"),
            *("file_lock", "cpu_wait", "wording"),
        ),
        0,
    ),
    **dict.fromkeys(("frontier", "fetch", "extract", "store"), 1),
    **dict.fromkeys(("spiders", "browser"), 2),
    "sinks": 3,
    "engine": 3,
    "jobs": 4,
    **dict.fromkeys(("embedded", "fleet", "dashboard"), 5),
    **dict.fromkeys(("control", "scrapy", "practice"), 6),
    "cli": 7,
    "__main__": 8,
}
"""Rooms of one level never import each other, except that the nouns of level 0 know one another."""
NAMED = {("spiders/spider.py", "embedded")}
"""`spider.run()` and `.stream()` start a crawl from below: the one import that goes up, inside these functions."""

BROAD = re.compile(r"^ *except\b.*\b(Base)?Exception\b", re.MULTILINE)


def room_of(path: Path) -> str:
    return path.relative_to(TOP).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            module = node.module or ""
            names = [f"shoal.{alias.name}" for alias in node.names] if module == "shoal" else [module]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "shoal" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1], node.lineno


def test_every_room_has_its_level() -> None:
    rooms = {room_of(path) for path in TOP.rglob("*.py")} - {"__init__"}
    assert rooms <= LEVELS.keys()


def test_imports_go_only_to_a_lower_level() -> None:
    wrong = []
    for path in sorted(TOP.rglob("*.py")):
        room = room_of(path)
        if room == "__init__":
            continue
        for other, line in imported_rooms(path):
            same = other == room or LEVELS[room] == LEVELS[other] == 0
            if not same and LEVELS[other] >= LEVELS[room] and (str(path.relative_to(TOP)), other) not in NAMED:
                wrong.append(f"{path.relative_to(TOP)}:{line} ({room}) imports {other}")
    assert not wrong


def test_every_broad_handler_says_why() -> None:
    silent = []
    for path in sorted(TOP.rglob("*.py")):
        text = path.read_text()
        if not BROAD.search(text):
            continue
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ExceptHandler) and BROAD.match(lines[node.lineno - 1]):
                # Above its first statement, or in the line of its first branch.
                until = node.body[0].body[0].lineno if isinstance(node.body[0], ast.If) else node.body[0].lineno
                if not any("# " in line for line in lines[node.lineno - 1 : until]):
                    silent.append(f"{path.relative_to(TOP)}:{node.lineno}")
    assert not silent


def test_help_imports_nothing_heavy() -> None:
    """`shoal --help` must stay under 150 ms: it may load click and the settings, no database and no parser."""
    code = "import sys, shoal.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"sqlalchemy", "alembic", "pycurl", "selectolax", "lxml", "asyncio", "rich", "pyarrow", "uvloop"}
    assert heavy.isdisjoint(loaded)


def test_a_plain_crawl_does_not_load_what_only_others_need() -> None:
    code = "import sys, shoal.cli.commands.crawl, shoal.cli.run_job; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    of_spiders = {"pydantic", "yaml", "lxml", "re2", "shoal.spiders.spider", "shoal.extract.document"}
    of_fleets = {"alembic", "celery", "flask", "redis", "sqlalchemy"}
    asked_for = {"obstore", "pyarrow", "shoal.cli.dry_run", "shoal.extract.make_formats"}
    assert (of_spiders | of_fleets | asked_for).isdisjoint(loaded)


def test_a_spider_in_python_does_not_load_what_rules_need() -> None:
    code = (
        "import sys; from shoal import spider; from shoal.engine.job_start import callbacks_of; "
        "from shoal.model import JobSpec; made = spider()(lambda page: None); "
        "assert callbacks_of(JobSpec('books'), made); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"pydantic"} <= set(loaded)
    assert {"yaml", "shoal.spiders.rules"}.isdisjoint(loaded)
