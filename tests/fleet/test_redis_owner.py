"""Two fleets with a database each and one Redis: the second is refused, and nobody else is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal.fleet.redis_owner import KEY
from tests.fleet.running import Role, Running


@pytest.fixture
def other(tmp_path: Path) -> dict[str, str]:
    """Another home, and so another database."""
    return {"SHOAL_HOME": str(tmp_path / "other")}


def claimed(fleet: Running) -> str:
    return str(json.loads(fleet.redis.client.get(KEY) or "{}").get("name"))


def assert_refused(role: Role, fleet: Running, other: dict[str, str]) -> None:
    assert role.ended() == 2, role.said
    assert f"Redis at 127.0.0.1:{fleet.redis.port} belongs to another fleet" in role.said
    assert f"{fleet.home}/shoal.db" in role.said and f"{other['SHOAL_HOME']}/shoal.db" in role.said
    assert "SHOAL_REDIS_URL, as in redis://host:6379/2" in role.said
    assert "Traceback" not in role.said


def test_processes_of_a_second_fleet_are_refused_with_both_database_names(
    tmp_path: Path, other: dict[str, str]
) -> None:
    with Running(tmp_path, workers=0, processes=1) as fleet:
        fleet.until(lambda: claimed(fleet) == f"{fleet.home}/shoal.db")
        assert_refused(fleet.start_tend(**other), fleet, other)
        assert_refused(fleet.start_worker(**other), fleet, other)
        assert claimed(fleet) == f"{fleet.home}/shoal.db"


def test_a_fleet_can_move_to_another_database_after_the_old_tend_has_stopped(
    tmp_path: Path, other: dict[str, str]
) -> None:
    with Running(tmp_path, workers=0) as fleet:
        fleet.until(lambda: claimed(fleet) == f"{fleet.home}/shoal.db")
        fleet.tends[0].terminate()
        assert fleet.tends[0].ended() == 0
        fleet.start_tend(**other)
        fleet.until(lambda: claimed(fleet) == f"{other['SHOAL_HOME']}/shoal.db")


def test_the_same_database_by_another_name_is_the_same_fleet(tmp_path: Path, other: dict[str, str]) -> None:
    with Running(tmp_path, workers=0) as fleet:
        fleet.until(lambda: claimed(fleet) == f"{fleet.home}/shoal.db")
        Path(other["SHOAL_HOME"]).symlink_to(fleet.home)
        second = fleet.start_tend(**other)
        fleet.until_manned(children=0, tends=2)
        fleet.until(lambda: "scheduling the fleet's jobs; Redis at" in second.said)
