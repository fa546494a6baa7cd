"""What a command loads: most of its CPU time would be the import of modules that it does not need."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from shoal.practice import Running
from tests.cli.conftest import Shell

RUN = """
import json, sys
from shoal.cli import main
first = sys.argv[:4]
for words in " ".join(sys.argv[4:]).split(" , "):
    sys.argv = [*first, *words.split()]
    try:
        main()
    except SystemExit as ended:
        assert ended.code == 0, ended
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
COUNT_COLLECTIONS = """
import gc, sys, traceback
imports = []
def note(phase, info):
    stack = traceback.walk_stack(sys._getframe())
    if phase == "start" and any("importlib" in frame.f_code.co_filename for frame, _ in stack):
        imports.append(phase)
gc.callbacks.append(note)
from shoal.__main__ import main
try:
    main()
except SystemExit as ended:
    gc.callbacks.clear()
    print(ended.code, len(imports), gc.isenabled())
"""
HEAVY = frozenset({"sqlalchemy", "alembic", "pydantic", "pydantic_core", "lxml", "yaml", "pyarrow", "multiprocessing"})

FOR_FEW = frozenset(
    {
        *("brotli", "decimal", "email.utils", "html.entities", "mimetypes", "xml.parsers.expat", "zstandard"),
        *("shoal.extract.needs_render", "shoal.extract.sitemaps", "shoal.spiders.sitemap_files"),
        *("shoal.fetch.digest_auth", "shoal.fetch.rendered_page", "shoal.fetch.tls_probe"),
        *("shoal.model.content_change", "shoal.model.proxy_list", "shoal.model.sink_url"),
        *("shoal.cli.output_file", "shoal.embedded.data_frame", "shoal.store.results.time_series"),
    }
)
"""A fifth of the CPU time of a crawl of one page, when all of them were loaded."""


def crawl(home: Path, *words: str) -> tuple[list[str], set[str]]:
    return run(home, "crawl", *words, "--allow-private")


def run(home: Path, *words: str) -> tuple[list[str], set[str]]:
    """Commands with `,` between them. Returns the lines of stdout, and the modules that were loaded at the end."""
    command = [sys.executable, "-c", RUN, "--home", str(home), "--json", *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines(), set(json.loads(ran.stderr.splitlines()[-1]))


def test_a_crawl_without_a_spider_never_loads_a_heavy_module(tmp_path: Path, site: Running) -> None:
    lines, loaded = crawl(tmp_path / "home", site.url(), "--rate", "0")
    assert json.loads(lines[-1])["pages"] > 10
    assert HEAVY.isdisjoint(loaded)
    # Nor in a home that exists.
    assert HEAVY.isdisjoint(crawl(tmp_path / "home", site.url(), "--max-pages", "1")[1])


def test_a_crawl_of_one_page_loads_nothing_that_few_crawls_need(tmp_path: Path, site: Running) -> None:
    lines, loaded = crawl(tmp_path / "home", site.url(), "--max-pages", "1")
    assert json.loads(lines[-1])["pages"] == 1
    assert not FOR_FEW & loaded


def test_neither_a_list_of_jobs_nor_a_resume_loads_sqlalchemy(shoal: Shell, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "2")
    with closing(sqlite3.connect(shoal.home / "shoal.db")) as database, database:
        # As a kill leaves it.
        database.execute("UPDATE jobs SET state = 'running', finished_at = NULL")
    commands = ("jobs", ",", "job", "last", ",", "resume", "last", ",", "jobs")
    lines, loaded = run(shoal.home, *commands)
    assert [json.loads(line)["state"] for line in lines if '"finished_at"' in line] == ["interrupted"] * 2 + ["limited"]
    assert "sqlalchemy" not in loaded


def test_imports_are_not_searched_for_garbage(tmp_path: Path) -> None:
    spider = tmp_path / "shop.py"
    spider.write_text("from shoal import spider\n\n@spider()\ndef shop(page):\n    yield {}\n")
    ran = subprocess.run(
        [sys.executable, "-c", COUNT_COLLECTIONS, "crawl", str(spider)], capture_output=True, text=True, timeout=60
    )
    code, collections, is_enabled = ran.stdout.split()
    assert (code, is_enabled) == ("2", "True"), ran.stderr
    assert int(collections) < 5
