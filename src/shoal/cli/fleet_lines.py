"""Lanes and hosts as `shoal top` shows them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime

from shoal.cli.backends import ListedJob, Record
from shoal.cli.humanize import count, duration, plural
from shoal.cli.terminal_text import safe, table
from shoal.model import ENDED, Lane

LANE_HEADER = ("lane", "workers", "busy", "jobs", "queued")
HOST_HEADER = ("host", "in flight", "held back by")
SLOWED = 1.5
"""A host whose delay is this many times the usual is slowed down."""


def lane_lines(workers: Sequence[Record], jobs: Sequence[ListedJob], width: int) -> list[str]:
    """For each lane: processes that serve it, those that crawl it now, unfinished jobs, and their requests."""
    rows = []
    for lane in Lane:
        serving = sum(lane in worker["lanes"] for worker in workers)
        busy = sum(worker["lane"] == lane for worker in workers)
        open_jobs = [job for job in jobs if job.lane is lane and job.state not in ENDED]
        queued = sum(job.figures.queued + job.figures.leased for job in open_jobs)
        rows.append((lane.value, str(serving), str(busy), str(len(open_jobs)), count(queued)))
    return table(rows, LANE_HEADER, width, frozenset({1, 2, 3, 4}))


def host_lines(hosts: Sequence[Record], most: int, width: int) -> list[str]:
    """The hosts that are blocked, paused or slowed down, those blocked longest first; empty if there is none."""
    now = time.time()
    held = [(blocked_s, host) for host in hosts if (blocked_s := _blocked_s(host, now)) > 0 or _is_held(host)]
    held.sort(key=lambda one: (-one[0], -one[1]["slowdown"], one[1]["host"]))
    rows = [(safe(host["host"]), str(host["in_flight"]), _held_by(host, blocked_s)) for blocked_s, host in held[:most]]
    more = len(held) - most
    lines = table(rows, HOST_HEADER, width, frozenset({1})) if rows else []
    return [*lines, *([f"and {plural(more, 'host')} more: shoal hosts"] if more > 0 else [])]


def _is_held(host: Record) -> bool:
    return bool(host["paused"]) or host["slowdown"] >= SLOWED


def _blocked_s(host: Record, now: float) -> float:
    until = host["block_until"]
    return 0.0 if until is None else datetime.fromisoformat(until).timestamp() - now


def _held_by(host: Record, blocked_s: float) -> str:
    if host["paused"]:
        return "paused by an operator"
    if blocked_s > 0:
        return f"blocked for {duration(blocked_s)}: {safe(host['block_reason'] or '')}"
    return f"slowed down {host['slowdown']:.1f} times"
