"""What SQLite knows of fingerprints: before and after they are merged, and after a restart."""

from __future__ import annotations

from pathlib import Path

from shoal.frontier.sqlite.schema import open_database
from shoal.frontier.sqlite.seen import MERGE_AT, Seen

EDGES = [-(2**63), -(2**63) + 1, -(2**53) - 1, -1, 0, 1, 2**53 + 1, 2**63 - 2, 2**63 - 1]
MANY = range(10, 10 + MERGE_AT)


def test_fingerprints_are_known_exactly_however_they_are_kept(tmp_path: Path) -> None:
    db = open_database(tmp_path / "frontier.db")
    seen = Seen(db)
    assert set(seen.unknown(1, [*EDGES, *EDGES])) == set(EDGES)
    seen.add(1, EDGES)
    assert_known(seen)
    seen.add(1, list(MANY))
    assert db.execute("SELECT count(*) FROM fresh").fetchone()[0] == 0
    assert_known(seen)
    seen.reload()
    assert_known(seen)
    seen.drop_job(1)
    assert set(seen.unknown(1, EDGES)) == set(EDGES)
    db.close()


def assert_known(seen: Seen) -> None:
    assert sorted(seen.unknown(1, [7, *EDGES, 8, 7])) == [7, 8]
    assert all(seen.holds(1, edge) for edge in EDGES)
    assert not seen.holds(1, 7)
    assert set(seen.unknown(2, EDGES)) == set(EDGES)
