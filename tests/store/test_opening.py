from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Table, text

from shoal.errors import HomeError, Unavailable, UsageError
from shoal.store import tables
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.database import schema, sqlite_script
from shoal.store.jobs import load_job
from shoal.store.store import Store
from tests.store.make import JOB, job_with, page


def shape(path: Path) -> dict[str, object]:
    """Every table and index with its columns, types, keys and nullability."""
    with sqlite3.connect(path) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        tables: dict[str, object] = {name: db.execute(f"PRAGMA table_info({name})").fetchall() for name in names}
        indexes = db.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'index' ORDER BY name").fetchall()
        for name, table in indexes:
            tables[name] = (table, db.execute(f"PRAGMA index_info({name})").fetchall())
    db.close()
    del tables["alembic_version"], tables["sqlite_autoindex_alembic_version_1"]
    return tables


def database_of(path: Path, *statements: str) -> Path:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()
    return path


VERSION_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"


def test_missing_directories_are_made(tmp_path: Path) -> None:
    Store.open(tmp_path / "a" / "b" / "shoal.db").close()
    assert (tmp_path / "a" / "b" / "shoal.db").is_file()


def test_rows_persist_after_the_store_is_closed(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        job_with(store)
    with Store.open(f"sqlite:///{tmp_path}/shoal.db") as store:
        assert load_job(store, JOB).id == JOB


def test_a_save_survives_a_kill_right_after_it(tmp_path: Path) -> None:
    path = tmp_path / "shoal.db"
    script = (
        "import os, signal\nfrom pathlib import Path\n"
        "from shoal.store.store import Store\nfrom tests.store.make import job_with\n"
        f"job_with(Store.open(Path({str(path)!r})))\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[2], timeout=30)
    with Store.open(path) as store:
        assert load_job(store, JOB).id == JOB


def test_migrations_and_tables_give_the_same_schema(tmp_path: Path) -> None:
    migrated = database_of(tmp_path / "migrated.db", VERSION_TABLE)
    Store.open(migrated).close()
    Store.open(tmp_path / "new.db").close()
    assert shape(migrated) == shape(tmp_path / "new.db")
    assert len(shape(migrated)) > 20


def test_an_upgraded_database_is_at_the_head(tmp_path: Path) -> None:
    with Store.open(database_of(tmp_path / "shoal.db", VERSION_TABLE)) as store, store.read() as db:
        assert db.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [schema.HEAD]


def test_the_script_for_new_files_is_that_of_the_tables() -> None:
    """If this fails: `make schema`."""
    assert ";\n".join(sqlite_script.statements()) == sqlite_script.generated().removesuffix(";\n")


@pytest.mark.parametrize("table", tables.metadata.tables.values(), ids=str)
def test_the_script_tells_the_columns_of_a_table(table: Table) -> None:
    columns = sqlite_script.columns_of(table.name)
    assert columns.names == tuple(column.name for column in table.columns)
    assert columns.key == tuple(column.name for column in table.primary_key)


def test_a_new_or_current_file_imports_neither_sqlalchemy_nor_psycopg(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom shoal.store.store import Store\n"
        f"for _ in range(2): Store.open(Path({str(tmp_path / 'shoal.db')!r})).close()\n"
        "from shoal.store.crawl import save_batch\n"
        "unused = ('sqlalchemy', 'alembic', 'psycopg', 'pyarrow')\n"
        "sys.exit(any(name in sys.modules for name in unused))"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = database_of(tmp_path / "shoal.db", VERSION_TABLE, "INSERT INTO alembic_version VALUES ('9999')")
    with pytest.raises(HomeError, match=r"shoal\.db was made by a newer Shoal \(schema 9999.*--home"):
        Store.open(path)


def test_a_foreign_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = database_of(tmp_path / "shoal.db", "CREATE TABLE recipes (name)")
    with pytest.raises(HomeError, match="not a Shoal database"):
        Store.open(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    db.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "shoal.db"
    path.write_bytes(b"what is this? " * 1000)
    with pytest.raises(HomeError, match=r"shoal\.db.*not a database.*--home"):
        Store.open(path)


def test_an_error_names_a_damaged_database(tmp_path: Path) -> None:
    path = tmp_path / "shoal.db"
    with Store.open(path) as store:
        job_with(store)
        save(store, Batch(JOB, pages=[page(n) for n in range(500)]))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(HomeError, match=r"shoal\.db.*malformed.*backup"), Store.open(path) as store:
        load_job(store, JOB)


def test_a_directory_instead_of_the_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HomeError, match="check that it is a file"):
        Store.open(tmp_path)


def test_a_file_instead_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    with pytest.raises(HomeError, match="cannot make the directory"):
        Store.open(tmp_path / "home" / "shoal.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HomeError, match="may read and write"):
        Store.open(tmp_path / "shoal.db")


def test_a_locked_database_is_unavailable(tmp_path: Path) -> None:
    with Store.open(tmp_path / "shoal.db") as store:
        with store.read() as db:
            db.exec_driver_sql("PRAGMA busy_timeout = 20")
        other = sqlite3.connect(tmp_path / "shoal.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"shoal\.db.*locked.*try again"):
            job_with(store)
        other.execute("COMMIT")
        other.close()
        job_with(store)


def test_a_reader_sees_one_snapshot_while_others_write(store: Store) -> None:
    job_with(store)
    pages = "SELECT count(*) FROM pages"
    with store.read() as db:
        before = db.exec_driver_sql(pages).scalar()
        save(store, Batch(JOB, pages=[page(1)]))
        assert db.exec_driver_sql(pages).scalar() == before == 0


def test_unsupported_databases_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"mysql://.*postgresql://") as refused:
        Store.open("mysql://ann:hush@host/db")
    assert "hush" not in str(refused.value)
