"""The examples run as their READMEs say, and the spider and its twin in rules find the same in any shop."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.practice import Running, Shop, running
from tests.cli.conftest import Here, Shell
from tests.frontier.redis_server import RedisServer
from tests.object_store.s3_server import S3Server
from tests.store.postgres_server import PostgresServer
from tests.transcript import Terminal

EXAMPLES = Path(__file__).parents[1] / "examples"
BOOKS_LINES = 12
THEIRS = "127.0.0.1:8000"


SERVERS = {"postgresql", "bucket"}
"""Examples that need a server."""


@pytest.mark.parametrize("name", sorted({path.name for path in EXAMPLES.iterdir() if path.is_dir()} - SERVERS))
def test_an_example_prints_what_its_readme_says(name: str, tmp_path: Path) -> None:
    with Terminal(tmp_path) as terminal:
        terminal.follow(EXAMPLES / name / "README.md")


def test_the_example_of_a_table_prints_what_its_readme_says(tmp_path: Path) -> None:
    with PostgresServer() as server:
        server.run("CREATE DATABASE shop")
        with Terminal(tmp_path, {"SHOAL_SECRET_SHOP": server.url("shop")}) as terminal:
            terminal.follow(EXAMPLES / "postgresql" / "README.md")


def test_the_example_of_a_bucket_prints_what_its_readme_says(tmp_path: Path, s3_server: S3Server) -> None:
    s3_server.make_bucket("my-bucket")
    with Terminal(tmp_path, s3_server.env()) as terminal:
        terminal.follow(EXAMPLES / "bucket" / "README.md")


def test_the_class_in_the_docs_is_that_of_the_example() -> None:
    docs = (EXAMPLES.parent / "docs" / "data.md").read_text()
    assert (EXAMPLES / "duckdb_sink" / "duckdb_sink.py").read_text().partition("import duckdb")[2].strip() in docs


def test_the_books_example_has_at_most_twelve_lines_of_code() -> None:
    text = (EXAMPLES / "books" / "books.py").read_text()
    assert len([line for line in ast.unparse(ast.parse(text)).splitlines() if line]) <= BOOKS_LINES


def test_the_spider_and_its_twin_in_rules_give_the_same_items_over_another_shop(tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    shop = Shop(seed=99, hosts=1, categories=3, products=20, per_page=4, troubled=False)
    with running(shop) as site:
        by_code = _items(shoal, site, "books/books.py")
        by_rules = _items(shoal, site, "rules/books.yaml")
    assert len(by_code) == 20
    assert sorted(by_code) == sorted(by_rules)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_of_ones_own_fetch_every_page_once(tmp_path: Path, workers: int) -> None:
    shop = Shop(hosts=1, categories=2, products=12, troubled=False)
    (tmp_path / "redis").mkdir()
    with running(shop, log=tmp_path / "log") as site, RedisServer(tmp_path / "redis") as redis:
        # Alone it needs no Redis.
        where = [redis.url] if workers > 1 else []
        argv = [sys.executable, str(EXAMPLES / "own_worker.py"), site.url(), *where]
        started = [subprocess.Popen(argv, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
        fetched = [line for process in started for line in process.communicate(timeout=120)[0].splitlines()]
        truth = {f"{status} {site.url(path)}" for path, status in shop.truth()[site.addresses[0]].pages.items()}
    assert [process.returncode for process in started] == [0] * workers
    assert len(fetched) == len(set(fetched))
    assert truth <= set(fetched)


def _items(shoal: Shell, site: Running, example: str) -> list[str]:
    copy = shoal.folder / Path(example).name
    copy.write_text((EXAMPLES / example).read_text().replace(THEIRS, f"{site.addresses[0]}:{site.port}"))
    assert shoal.crawl(copy.name, "-o", "items.jsonl", "--overwrite").code == 0
    return (shoal.folder / "items.jsonl").read_text().splitlines()
