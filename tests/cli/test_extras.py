"""Shoal as `pip install .` gives it: what needs no extra works, and what does says which."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from shoal.cli import COMMANDS, FLEET_MODULES
from shoal.practice import Running
from tests.cli.conftest import Shell
from tests.cli.one_after_another import one_after_another
from tests.installed import as_installed, asked_for

OF_A_FLEET = ("up", "worker", "tend", "api", "submit https://example.com", "schedule list", "rebuild last")
NEEDED = "pip install 'shoal[fleet]', or in a checkout pip install '.[fleet]'"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    return as_installed(tmp_path / "bare")


def ran(folder: Path, env: dict[str, str], *commands: str) -> list[Any]:
    """(the command, its exit code, its stderr) of each."""
    # In one process: what is missing is missing each time anew.
    done = one_after_another(folder, {**Shell(folder).environment, **env}, commands)
    return [(words, one.code, one.err) for words, one in zip(commands, done, strict=True)]


def test_a_crawl_needs_no_extra(tmp_path: Path, bare: dict[str, str], site: Running) -> None:
    options = ("--allow-private", "--rate", "0", "--max-pages", "5", "--quiet")
    ran = Shell(tmp_path)("crawl", site.url(), *options, "-o", "out.csv", env=bare)
    assert ran.code == 0 and len((tmp_path / "out.csv").read_text().splitlines()) == 6, ran.err


def test_the_dashboard_and_reports_of_a_home_need_one_small_extra(tmp_path: Path, site: Running) -> None:
    env = as_installed(tmp_path / "small", "dashboard")
    shoal = Shell(tmp_path)
    shoal("crawl", site.url(), "--allow-private", "--rate", "0", "--max-pages", "2", env=env)
    (_, missing, said), (_, code, _) = (
        *ran(tmp_path, as_installed(tmp_path / "bare"), "report last -o report.html"),
        *ran(tmp_path, env, "report last -o report.html"),
    )
    assert missing == 2 and "needs flask, which is not installed: pip install 'shoal[dashboard]'" in said
    assert code == 0 and (tmp_path / "report.html").exists()
    served = "import shoal.cli.home_dashboard"
    subprocess.run([sys.executable, "-c", served], env={**shoal.environment, **env}, check=True)


def test_a_sink_says_which_extra_it_needs(tmp_path: Path, bare: dict[str, str]) -> None:
    fields = {"title": "h1"}
    rules = {"start": ["https://x.test/"], "items": [{"name": "Book", "fields": fields}]}
    (tmp_path / "books.json").write_text(json.dumps(rules))
    needed = {
        "postgresql://host/db": "psycopg: pip install 'shoal[fleet]'",
        "mysql://host/db": "pymysql: pip install 'shoal[mysql]'",
        "redis://host/0?list=books": "redis: pip install 'shoal[fleet]'",
        "s3://bucket/books/?format=jsonl": "obstore: pip install 'shoal[s3]'",
        f"file://{tmp_path}/books/": "Parquet needs pyarrow (or add ?format=jsonl): pip install 'shoal[parquet]'",
    }
    commands = [f"crawl books.json --sink {url}" for url in needed]
    for (words, code, said), need in zip(ran(tmp_path, bare, *commands), needed.values(), strict=True):
        assert code == 2 and need in said and said.count("\n") == 1, (words, said)


def test_a_command_of_a_fleet_says_in_one_line_which_extra_it_needs(tmp_path: Path, bare: dict[str, str]) -> None:
    for words, code, said in ran(tmp_path, bare, *OF_A_FLEET):
        assert code == 2 and NEEDED in said and said.count("\n") == 1, (words, said)


def test_every_other_command_needs_no_extra_without_a_fleet(tmp_path: Path, bare: dict[str, str]) -> None:
    rest = [f"{name} --help" for name in COMMANDS if name not in " ".join(OF_A_FLEET).split()]
    for words, code, said in ran(tmp_path, bare, "token list", *rest, "jobs", "hosts", "db upgrade", "config show"):
        assert code == 0, (words, said)
    fleet = {**bare, "SHOAL_REDIS_URL": "redis://127.0.0.1:1/0"}
    for words, code, said in ran(tmp_path, fleet, "jobs", "job last", "pause last", "resume last", "hosts"):
        assert code == 2 and NEEDED in said, (words, said)


def test_through_an_api_no_command_needs_the_extra(tmp_path: Path, bare: dict[str, str], site: Running) -> None:
    """The shop is no API: each command gets as far as to find that out."""
    api = {**bare, "SHOAL_API_URL": site.url(), "SHOAL_TOKEN": "shoal_x"}
    reached = ran(
        tmp_path, api, "submit https://example.com", "schedule list", "token list", "job last", "jobs", "hosts"
    )
    for words, code, said in reached:
        assert code == 2 and said.startswith(f"error: {site.url().rstrip('/')} answered 40"), (words, said)


def test_every_module_of_the_extra_is_listed() -> None:
    asked = asked_for("fleet") - {"tzdata"}
    assert {name for name, brings in packages_distributions().items() if asked & set(brings)} - FLEET_MODULES == set()
