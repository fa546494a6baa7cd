"""A `frontier.db` of an earlier format goes on to be used."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from shoal.frontier.contract import Caller, Terms
from shoal.frontier.sqlite import SqliteFrontier
from shoal.frontier.sqlite.schema import VERSION
from shoal.model import Offer
from tests.frontier.conftest import target


async def test_a_file_of_the_first_format_is_brought_up_to_date(tmp_path: Path) -> None:
    path, caller = tmp_path / "frontier.db", Caller("worker")
    frontier = SqliteFrontier(path)
    await frontier.open_job("job", Terms())
    await frontier.offer(caller.next(), [Offer("job", [target("http://a/")])])
    frontier.close()
    with closing(sqlite3.connect(path)) as db:
        made = _schema(db)
        later = (
            "own_workers",
            "browser",
            "rendered",
            "cost_max",
            "cost",
            "assets_max",
            "asset_permits",
            "assets",
            "hosts",
        )
        db.executescript("".join(f"ALTER TABLE job DROP COLUMN {name};" for name in later))
        db.executescript(
            "ALTER TABLE later DROP COLUMN band; ALTER TABLE lease DROP COLUMN band; DROP INDEX queue_free;"
            "DROP INDEX queue_rendered"
        )
        db.executescript("CREATE INDEX queue_held ON queue(job, host) WHERE held")
        db.executescript("DROP TABLE site; ALTER TABLE ready DROP COLUMN next_at")
        db.executescript("".join(f"ALTER TABLE host DROP COLUMN {name};" for name in ("gap_s", "floor_at", "site")))
        db.executescript("DROP INDEX ready_met; ALTER TABLE job DROP COLUMN given; PRAGMA user_version = 1")
        assert _schema(db) != made

    frontier = SqliteFrontier(path)
    assert len(await frontier.lease(caller.next(), 1)) == 1
    frontier.close()
    with closing(sqlite3.connect(path)) as db:
        assert _schema(db) == made
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)


def _schema(db: sqlite3.Connection) -> set[str]:
    columns = {
        row[1] for table in ("job", "host", "ready", "lease") for row in db.execute(f"PRAGMA table_info({table})")
    }
    return columns | {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
