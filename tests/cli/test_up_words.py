"""What `shoal up` says every half minute where there is no terminal."""

from __future__ import annotations

from shoal.cli.commands.up import plain
from shoal.fleet.fleet_status import FleetStatus
from shoal.fleet.roster import RosterEntry
from shoal.model import Lane

FULL_DISK = "the spool cannot be written: No space left on device"
FULL_REDIS = "Redis at 127.0.0.1:6379 is at its maxmemory"


def child(pid: int, waiting_for: str | None) -> RosterEntry:
    return RosterEntry(f"child-{pid}", "child", "here", pid, lanes=tuple(Lane), waiting_for=waiting_for, per_s=0.5)


def test_what_the_processes_wait_for_is_told_once() -> None:
    told = plain(FleetStatus(True, at_work=[child(1, FULL_DISK), child(2, FULL_DISK), child(3, None)]), [])
    assert told == f"3 at work, all lanes, 1.5 requests/s, 0 B; 0 jobs to do; {FULL_DISK}"


def test_a_server_that_is_at_fault_is_told_of_and_not_once_more_by_each_who_waits_for_it() -> None:
    told = plain(FleetStatus(True, FULL_REDIS, at_work=[child(1, f"{FULL_REDIS}: raise it")]), [])
    assert told.endswith(f"0 jobs to do; {FULL_REDIS}")
