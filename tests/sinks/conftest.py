"""A store in a SQLite file with a job that has a sink, and the servers that sinks deliver to."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.store.store import Store
from tests.sinks.mariadb_server import MariadbServer
from tests.store.conftest import empty_file, postgres
from tests.store.postgres_server import PostgresServer, fresh_database

__all__ = ["empty_file", "postgres"]


@pytest.fixture
def store(empty_file: Path, tmp_path: Path) -> Iterator[Store]:
    with Store.open(Path(shutil.copy(empty_file, tmp_path))) as opened:
        yield opened


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    yield from fresh_database(postgres, "warehouse")


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariadbServer]:
    with MariadbServer() as server:
        yield server


@pytest.fixture
def mysql_database(mariadb: MariadbServer) -> Iterator[str]:
    mariadb.run("CREATE DATABASE warehouse")
    yield mariadb.url("warehouse")
    mariadb.run("DROP DATABASE warehouse")
