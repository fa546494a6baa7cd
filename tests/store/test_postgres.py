"""PostgreSQL only: opening it, outages, and concurrent writers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from shoal.errors import ShoalError, Unavailable, UsageError
from shoal.store.crawl.failed_attempts import FAILED, failure_key
from shoal.store.crawl.offer_log import logged_offers
from shoal.store.crawl.save_batch import SKIPPED, Batch, save
from shoal.store.database import schema
from shoal.store.database.upgrade import Upgraded, upgrade
from shoal.store.jobs import load_job
from shoal.store.results.job_figures import stored_figures
from shoal.store.results.listings import list_pages
from shoal.store.store import Store
from tests.fetch.secure import make_authority
from tests.store.make import JOB, job_with, page
from tests.store.postgres_server import PASSWORD, PostgresServer, fresh_database

VERSION_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"


@pytest.fixture
def opened(empty_database: str) -> Iterator[Store]:
    with Store.open(empty_database) as store:
        job_with(store)
        yield store


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may stop."""
    with PostgresServer() as server:
        yield server


def shape(url: str) -> list[tuple[object, ...]]:
    """Every column and index."""
    columns = (
        "SELECT table_name, ordinal_position, column_name, data_type, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'public'"
    )
    indexes = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'"
    with Store.open(url) as store, store.read() as db:
        rows = [tuple(row) for query in (columns, indexes) for row in db.execute(text(query))]
    return sorted((row for row in rows if row[0] != "alembic_version"), key=str)


def refused(place: str) -> str:
    with pytest.raises(ShoalError) as refusal:
        Store.open(place)
    assert PASSWORD not in str(refusal.value)
    return f"{type(refusal.value).__name__}: {refusal.value}"


class TestTheSchema:
    def test_is_the_same_by_migrations_and_by_tables(self, postgres: PostgresServer, empty_database: str) -> None:
        by_tables = shape(empty_database)
        postgres.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", VERSION_TABLE, database="empty")
        assert upgrade(empty_database).before is None
        assert shape(empty_database) == by_tables and len(by_tables) > 100

    def test_an_older_one_is_refused_until_it_is_upgraded(self, postgres: PostgresServer, empty_database: str) -> None:
        postgres.run(VERSION_TABLE, database="empty")
        assert "older Shoal" in (said := refused(empty_database)) and "run `shoal db upgrade`" in said
        name = f"postgresql://127.0.0.1:{postgres.port}/empty"
        assert upgrade(empty_database) == Upgraded(name, None, schema.HEAD)
        assert upgrade(empty_database) == Upgraded(name, schema.HEAD, schema.HEAD)
        Store.open(empty_database).close()

    def test_a_newer_one_is_always_refused(self, postgres: PostgresServer, empty_database: str) -> None:
        postgres.run(VERSION_TABLE, "INSERT INTO alembic_version VALUES ('9999')", database="empty")
        assert "newer Shoal (schema 9999" in (said := refused(empty_database)) and "SHOAL_DATABASE_URL" in said
        with pytest.raises(UsageError, match="newer Shoal"):
            upgrade(empty_database)

    def test_a_foreign_one_is_refused_and_not_changed(self, postgres: PostgresServer, empty_database: str) -> None:
        postgres.run("CREATE TABLE recipes (name text)", database="empty")
        assert "not a Shoal database" in refused(empty_database)
        postgres.run("DROP TABLE recipes", database="empty")
        Store.open(empty_database).close()


class TestDatabaseIdentity:
    def test_is_the_same_for_every_url_and_different_for_every_other_database(
        self, opened: Store, postgres: PostgresServer
    ) -> None:
        for url in fresh_database(postgres, "neighbour"):
            spelled = postgres.url("empty").replace("127.0.0.1", "localhost")
            with Store.open(spelled) as same, Store.open(url) as other:
                assert opened.name != same.name
                assert opened.identity() == same.identity() != other.identity() is not None

    def test_is_unknown_to_a_user_without_the_right_to_ask(self, opened: Store, postgres: PostgresServer) -> None:
        postgres.run(
            "CREATE ROLE asker LOGIN PASSWORD 'x'",
            "GRANT SELECT ON alembic_version TO asker",
            "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
            database="empty",
        )
        with Store.open(f"postgresql://asker:x@127.0.0.1:{postgres.port}/empty") as store:
            assert store.identity() is None
        assert opened.identity() is not None
        postgres.run("DROP OWNED BY asker", "DROP ROLE asker", database="empty")


class TestADatabaseThatCannotBeUsed:
    def test_an_error_names_a_silent_one_without_its_password(self) -> None:
        said = refused(f"postgresql://ann:{PASSWORD}@127.0.0.1:1/crawl?password={PASSWORD}")
        assert said.startswith("Unavailable: postgresql://127.0.0.1:1/crawl: ") and "refused" in said

    def test_an_error_names_a_missing_one(self, postgres: PostgresServer) -> None:
        assert 'database "nowhere" does not exist' in refused(postgres.url("nowhere"))

    def test_an_invalid_url_is_a_usage_error(self) -> None:
        assert refused(f"postgresql://ann:{PASSWORD}@host:port/crawl").startswith("UsageError: SHOAL_DATABASE_URL")

    def test_one_in_another_encoding_is_refused(self, postgres: PostgresServer) -> None:
        postgres.run("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
        assert "LATIN1" in (said := refused(postgres.url("latin"))) and "UTF8" in said

    def test_a_user_without_rights_sees_which_are_missing(self, postgres: PostgresServer) -> None:
        postgres.run("CREATE ROLE guest LOGIN")
        said = refused(postgres.url().replace("shoal:", "guest:"))
        assert said.startswith("UsageError: ") and "permission denied" in said
        assert "the right to create, read and write tables" in said

    def test_without_psycopg_it_says_what_to_install(self) -> None:
        script = (
            "import sys; sys.modules['psycopg'] = None\nfrom shoal.errors import UsageError\n"
            "from shoal.store.store import Store\n"
            "try: Store.open('postgresql://host/crawl')\n"
            "except UsageError as error: sys.exit(0 if \"pip install 'shoal[fleet]'\" in str(error) else 2)"
        )
        subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


class TestAServerThatGoesAway:
    def test_a_call_fails_during_an_outage_and_the_next_one_works(self) -> None:
        with PostgresServer() as server, Store.open(server.url()) as store:
            job_with(store)
            listing = list_pages(store, JOB, {})
            save(store, Batch(JOB, pages=[page(n) for n in range(2000)]))
            next(listing)
            server.stop()
            with pytest.raises(Unavailable, match=r"terminating connection|closed"):
                list(listing)
            with pytest.raises(Unavailable, match=r"postgresql://127\.0\.0\.1:\d+/postgres: .*refused"):
                load_job(store, JOB)
            server.start()
            assert load_job(store, JOB).id == JOB
            server.stop()
            server.start()
            save(store, Batch(JOB, pages=[page(5000)]))
            assert stored_figures(store, JOB).pages == 2001, "nobody noticed that it was away"


class TestAServerThatHangs:
    @pytest.fixture
    def hasty(self, own_server: PostgresServer) -> Iterator[Store]:
        with Store.open(f"{own_server.url()}?tcp_user_timeout=500&connect_timeout=1") as store:
            yield store

    @contextmanager
    def unavailable_in_time(self) -> Iterator[None]:
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"does not answer|timeout"):
            yield
        assert time.monotonic() - began < 8

    def test_fails_a_save_in_time_and_accepts_it_later(self, own_server: PostgresServer, hasty: Store) -> None:
        batch = Batch(JOB, pages=[page(n) for n in range(50)], offers=["a"])
        with own_server.standing_still(), self.unavailable_in_time():
            save(hasty, batch)
        assert stored_figures(hasty, JOB).pages == 0
        save(hasty, batch)
        assert stored_figures(hasty, JOB).pages == 50
        assert len(logged_offers(hasty, JOB, 0, 10)) == 1

    def test_in_the_middle_of_a_transaction_rolls_it_back(self, own_server: PostgresServer, hasty: Store) -> None:
        with self.unavailable_in_time(), hasty.write() as db:
            db.execute(text("INSERT INTO offers (job, packed) VALUES ('half', '')"))
            with own_server.standing_still():
                db.execute(text("INSERT INTO offers (job, packed) VALUES ('half', '')"))
        assert logged_offers(hasty, "half", 0, 10) == []

    def test_is_not_confused_with_a_busy_one(self, hasty: Store) -> None:
        with hasty.read() as db:
            assert db.execute(text("SELECT 7 FROM pg_sleep(1.5)")).scalar() == 7


class TestConcurrentWriters:
    def test_a_deadlock_costs_one_retry(self, opened: Store) -> None:
        job_with(opened, id="other")
        both_have_one = threading.Barrier(2)
        tries: list[str] = []

        def rename(first: str, second: str) -> None:
            def work(db: Connection) -> None:
                tries.append(first)
                for at, id in enumerate((first, second)):
                    db.execute(text("UPDATE jobs SET name = :name WHERE id = :id"), {"name": first, "id": id})
                    if at == 0 and len(tries) <= 2:
                        both_have_one.wait(10)

            opened.change(work)

        threads = [threading.Thread(target=rename, args=ids) for ids in ((JOB, "other"), ("other", JOB))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(tries) == 3
        with opened.read() as db:
            assert len(set(db.execute(text("SELECT name FROM jobs")).scalars())) == 1, "one after the other"

    def test_counts_do_not_wait_for_other_commits_and_add_up(self, opened: Store, empty_database: str) -> None:
        def saved(n: int) -> Batch:
            counts = {(SKIPPED, "off_scope"): (n, None), (FAILED, failure_key("timeout", None, "a")): (1, f"url{n}")}
            return Batch(JOB, pages=[page(n)], tallies=counts)

        save(opened, saved(1))
        with Store.open(empty_database) as other, other.write() as committing:
            other.lock_free_part(committing, JOB)
            committing.execute(text("UPDATE tallies SET n = n"))
            save(opened, saved(2))
        save(opened, saved(3))
        figures = stored_figures(opened, JOB)
        assert figures.skipped == {"off_scope": 6}
        assert [(failures.n, failures.sample) for failures in figures.failures] == [(3, "url1")]
        with opened.read() as db:
            parts = db.execute(text("SELECT DISTINCT part FROM tallies")).scalars().all()
        assert sorted(parts) == [1, 2], "as many as there were writers at once"

    def test_rows_locked_for_too_long_are_unavailable(self, opened: Store, postgres: PostgresServer) -> None:
        with opened.write() as db:
            db.execute(text("SET lock_timeout = '50ms'"))
        with Store.open(postgres.url("empty")) as other, other.write() as holding:
            other.lock_requests(holding, JOB, [1, 2])
            save(opened, Batch(JOB, pages=[page(3)]))
            save(opened, Batch("another", pages=[page(2)]))
            with pytest.raises(Unavailable, match=r"lock timeout.*try again"):
                save(opened, Batch(JOB, pages=[page(n) for n in (2, 3, 4)]))
        save(opened, Batch(JOB, pages=[page(2)]))
        assert stored_figures(opened, JOB).pages == 2

    def test_the_server_ends_an_idle_writer_but_not_an_idle_reader(self, opened: Store) -> None:
        timeout = text("SHOW idle_in_transaction_session_timeout")
        with opened.write() as writing, opened.read() as reading:
            assert (writing.execute(timeout).scalar(), reading.execute(timeout).scalar()) == ("1min", "0")


def test_figures_are_plain_numbers(opened: Store) -> None:
    save(opened, Batch(JOB, pages=[page(1)]))
    assert type(stored_figures(opened, JOB).bytes) is int


def test_an_untrusted_certificate_error_names_the_parameter_for_its_ca(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    trusted, other = tmp_path / "trusted", tmp_path / "other"
    for folder in (trusted, other):
        folder.mkdir()
        make_authority(folder)
    own_server.take_tls(trusted / "ca.pem", trusted / "key.pem")
    url = f"{own_server.url()}?sslmode=verify-full&sslrootcert="
    until_taken = time.monotonic() + 20
    while "does not support SSL" in (said := refused(f"{url}{other / 'ca.pem'}")):
        assert time.monotonic() < until_taken
    assert "certificate verify failed" in said and said.startswith("Unavailable: postgresql://127.0.0.1")
    assert said.endswith("in SHOAL_DATABASE_URL, as in ?sslrootcert=/path/ca.pem")
    Store.open(f"{url}{trusted / 'ca.pem'}").close()


def test_an_error_names_an_option_unknown_to_libpq(postgres: PostgresServer) -> None:
    said = refused(f"{postgres.url()}?foo=1")
    assert said.startswith("UsageError: ") and '"foo"' in said and "remove it from SHOAL_DATABASE_URL" in said
