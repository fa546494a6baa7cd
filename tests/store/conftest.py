"""Both databases run the same suite: a test that uses the fixture `store` runs on each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from shoal.store.archive.archive_folders import Archive
from shoal.store.store import Store
from shoal.store.tables import metadata
from tests.store.new_database import new_database
from tests.store.postgres_server import PostgresServer, fresh_database


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def shared_database(postgres: PostgresServer) -> Iterator[str]:
    """Created once, because that takes longer than most tests; `store` empties it."""
    yield from fresh_database(postgres, "shared")


@pytest.fixture
def empty_database(postgres: PostgresServer) -> Iterator[str]:
    yield from fresh_database(postgres, "empty")


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "shoal.db"
    path.write_bytes(new_database())
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """The address of the database that `store` opens."""
    if request.param == "sqlite":
        return Path(shutil.copy(request.getfixturevalue("empty_file"), tmp_path))
    url: str = request.getfixturevalue("shared_database")
    return url


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store.open(place) as opened:
        yield opened
        if isinstance(place, str):
            with opened.write() as db:
                _empty(db)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with closing(Archive.at(None, tmp_path)) as archive:
        yield archive


def _empty(db: Connection) -> None:
    """Empties only the tables with rows: emptying a table takes as long as a short test."""
    looks = (f"SELECT '{name}' WHERE EXISTS (SELECT FROM {name})" for name in metadata.tables)
    if names := list(db.execute(text(" UNION ALL ".join(looks))).scalars()):
        db.execute(text(f"TRUNCATE {', '.join(names)}"))
