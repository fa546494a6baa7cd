"""`shoal workers`: lists the processes of the fleet."""

from __future__ import annotations

from shutil import get_terminal_size

import click

from shoal.cli.backends import Record
from shoal.cli.backends.workers import list_workers
from shoal.cli.humanize import count, size
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, table
from shoal.model import Lane

HEADER = ("role", "machine", "process", "in flight", "req/s", "memory", "doing")
NUMBERS = frozenset({2, 3, 4, 5})


@click.command(cls=Command)
def workers(session: Session) -> None:
    """List the processes of the fleet with their last report. A process that is silent for 12 s is not shown.

    \b
    shoal workers
    shoal workers --json
    """
    found = list_workers(session)
    if session.json:
        for worker in found:
            session.data(worker)
        return
    if not found:
        session.say("no process of the fleet reports: start them with `shoal up`, or `shoal worker` and `shoal tend`")
        return
    for line in table(map(worker_row, found), HEADER, get_terminal_size().columns, NUMBERS):
        session.show(line)


def worker_row(worker: Record) -> tuple[str, ...]:
    is_child = worker["role"] == "child"
    in_flight = count(worker["in_flight"]) if is_child else "–"
    # An older fleet does not report it.
    rate = "–" if worker.get("per_s") is None else f"{worker['per_s']:.1f}"
    memory = size(worker["memory_bytes"]) if worker["memory_bytes"] else "–"
    return (
        "worker" if is_child else "tend",
        safe(worker["machine"]),
        str(worker["pid"]),
        in_flight,
        rate,
        memory,
        _doing(worker),
    )


def _doing(worker: Record) -> str:
    if worker["waiting_for"]:
        return f"waits: {safe(worker['waiting_for'])}"
    # An older fleet does not report it.
    if worker.get("stopping"):
        return "finishes its requests and ends"
    if worker["role"] != "child":
        return "schedules jobs"
    # Short enough for a terminal of 80 columns.
    lanes = "all lanes" if len(worker["lanes"]) == len(Lane) else " ".join(worker["lanes"])
    without = "no browser: " if worker.get("browser_fault") else ""
    return f"{without}crawls {worker['lane']}, {lanes}" if worker["lane"] else f"{without}idle, {lanes}"
