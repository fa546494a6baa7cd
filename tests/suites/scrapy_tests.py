"""Scrapy's own tests of crawls, with Shoal's scheduler as the default (`scrapy_default_scheduler.py`).

They need `pip install pytest-twisted pytest-timeout pyftpdlib sybil pexpect`, and a checkout of the version that is
installed. Left out are tests of commands, which start processes with Scrapy's defaults, and of download handlers, which
need no scheduler.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.suites.suite import Result

PARTS = (
    *(
        "addons",
        "closespider",
        "contracts",
        "core",
        "crawl",
        "crawler",
        "downloadermiddleware",
        "downloaderslotssettings",
    ),
    *("dupefilters", "engine", "extension", "feedexport", "http_request", "item", "link", "linkextractors", "loader"),
    *("logformatter", "logstats", "middleware", "pipeline", "pipelines", "pqueues", "request", "resolver"),
    *("robotstxt_interface", "scheduler", "signals", "spider", "spidermiddleware", "spiderstate"),
    *("squeues", "stats"),
)
LEFT_OUT = frozenset(("test_crawler_runners", "test_crawler_subprocess"))
LIMIT_S = 90


def run(checkout: Path) -> Result:
    report = checkout / "shoal-report.xml"
    options = ["-q", "-p", "scrapy_default_scheduler", "-p", "no:cacheprovider", f"--timeout={LIMIT_S}"]
    options += ["-m", "not requires_internet", f"--junitxml={report}"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    ran = subprocess.run([sys.executable, "-m", "pytest", *options, *_files(checkout)], cwd=checkout, env=env)
    if not report.exists():
        raise SystemExit(f"Scrapy's tests could not be run: exit code {ran.returncode}")
    result = Result()
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is None:
            is_passed = case.find("failure") is None and case.find("error") is None
            result.note(is_passed, f"{case.get('classname')}::{case.get('name')}")
    return result


def _files(checkout: Path) -> list[str]:
    """`test_engine.py` and `test_engine_loop.py` are of the part `engine`."""
    names = sorted(file.name for file in (checkout / "tests").glob("test_*.py") if file.stem not in LEFT_OUT)
    return [
        f"tests/{name}"
        for name in names
        if name.startswith(tuple(f"test_{part}{end}" for part in PARTS for end in "._"))
    ]
