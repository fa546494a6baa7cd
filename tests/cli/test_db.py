from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoal.store.database.schema import HEAD
from tests.cli.conftest import Shell
from tests.store.postgres_server import PASSWORD, PostgresServer


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


def test_an_empty_database_gets_its_tables_and_a_current_one_is_left_as_it_is(
    shoal: Shell, postgres: PostgresServer
) -> None:
    named = {"SHOAL_DATABASE_URL": postgres.url()}
    name = f"postgresql://127.0.0.1:{postgres.port}/postgres"
    first = shoal("db", "upgrade", env=named)
    assert (first.code, first.out) == (0, f"{name}: schema {HEAD}, newly created\n")
    assert shoal("db", "upgrade", env=named).out == f"{name}: schema {HEAD}, up to date\n"
    assert shoal("db", "upgrade", "--json", env=named).lines == [{"database": name, "before": HEAD, "after": HEAD}]
    assert not shoal.home.exists()


def test_a_server_that_does_not_answer_is_exit_code_5_without_its_password(shoal: Shell) -> None:
    ran = shoal("db", "upgrade", env={"SHOAL_DATABASE_URL": f"postgresql://ann:{PASSWORD}@127.0.0.1:1/crawl"})
    assert ran.code == 5
    assert "postgresql://127.0.0.1:1/crawl" in ran.err and "refused" in ran.err and PASSWORD not in ran.err


def test_without_a_database_setting_the_home_is_upgraded(shoal: Shell) -> None:
    ran = shoal("db", "upgrade")
    assert ran.code == 2 and "there is no home" in ran.err
    shoal.home.mkdir()
    (shoal.home / "shoal.db").touch()
    ran = shoal("db", "upgrade")
    assert (ran.code, ran.out) == (0, f"{shoal.home / 'shoal.db'}: schema {HEAD}, newly created\n")
