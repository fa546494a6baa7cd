"""What a crawl of one page loads: most of its CPU time would be the import of modules that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from shoal.practice import Running

CRAWL = """
import json, sys
from shoal.cli import main
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
HEAVY = frozenset({"sqlalchemy", "alembic", "pydantic", "pydantic_core", "lxml", "yaml", "pyarrow", "multiprocessing"})


def crawl(home: Path, *words: str) -> tuple[list[str], set[str]]:
    """Returns the lines of stdout, and the modules that were loaded at the end."""
    command = [sys.executable, "-c", CRAWL, "--home", str(home), "--json", "crawl", *words, "--allow-private"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return ran.stdout.splitlines(), set(json.loads(ran.stderr.splitlines()[-1]))


def test_a_crawl_without_a_spider_never_loads_a_heavy_module(tmp_path: Path, site: Running) -> None:
    lines, loaded = crawl(tmp_path / "home", site.url(), "--rate", "0")
    assert json.loads(lines[-1])["pages"] > 10
    assert HEAVY.isdisjoint(loaded)
    # Nor in a home that exists.
    assert HEAVY.isdisjoint(crawl(tmp_path / "home", site.url(), "--max-pages", "1")[1])
