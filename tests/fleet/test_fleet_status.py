"""A fleet at one glance: a Redis that answers and takes nothing is told from one that is away, which `shoal up` would
start anew."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from shoal.fleet.fleet import Fleet
from shoal.fleet.fleet_status import FleetStatus, read_fleet_status
from shoal.frontier.redis.shard import TAG
from tests.fleet.by_hand import FleetShell, fleet_shell


def glance(shell: FleetShell) -> FleetStatus:
    async def take() -> FleetStatus:
        fleet = Fleet(shell.settings)
        try:
            return await read_fleet_status(fleet)
        finally:
            await fleet.close()

    return asyncio.run(take())


@pytest.mark.parametrize(
    ("setting", "words"), [("maxmemory", "is at its maxmemory"), ("min-replicas-to-write", "refuses: NOREPLICAS")]
)
def test_a_full_redis_counts_as_answering(setting: str, words: str, tmp_path: Path) -> None:
    with fleet_shell(tmp_path) as shell:
        # Somebody who fell silent, whom it would have to forget.
        shell.redis.client.sadd(f"{TAG}:roster", "child-gone")
        shell.redis.client.config_set(setting, 1)
        seen = glance(shell)
        assert seen.redis_answers and words in (seen.redis_fault or "")


def test_a_redis_that_is_away_does_not_answer(tmp_path: Path) -> None:
    with fleet_shell(tmp_path) as shell:
        shell.redis.kill()
        seen = glance(shell)
        assert not seen.redis_answers and "does not answer" in (seen.redis_fault or "")
