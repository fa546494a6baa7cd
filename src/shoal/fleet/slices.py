"""Slices on their way: how many wait in a lane's queue, and publishing more.

A slice is a wake-up. One that is lost costs the moment until `tend` notices, one too many ends without a successor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from kombu.exceptions import ChannelError, OperationalError

from shoal.errors import Unavailable
from shoal.fleet.messages import SLICE
from shoal.fleet.roster import Entry
from shoal.frontier.redis.tls import tls_fault
from shoal.model import Lane

SOON_S = 5.0
"""What may be leased within this time is something to do."""


def publish(app: Celery, lane: Lane, n: int = 1) -> None:
    """Raises Unavailable."""
    with _translated(app), app.producer_pool.acquire(block=True) as producer:
        for _ in range(n):
            app.send_task(SLICE, args=[lane.value], queue=lane.value, producer=producer, retry=False)


def waiting(app: Celery, lane: Lane) -> int:
    """Slices of a lane that nobody has taken. Raises Unavailable."""
    with _translated(app), app.connection_for_read() as connection, connection.channel() as channel:
        try:
            return int(channel.queue_declare(lane.value, passive=True).message_count)
        except ChannelError:
            return 0


def is_work(ready_in_s: float | None) -> bool:
    """Whether slices are wanted, by when something may be leased."""
    return ready_in_s is not None and ready_in_s < SOON_S


def gaps(roster: list[Entry], wanting: set[Lane]) -> dict[Lane, int]:
    """How many slices more each lane with work could use: one for every process at rest.

    The worst lane first, because its slices serve the better ones too.
    """
    idle = [entry for entry in roster if entry.role == "child" and entry.lane is None]
    found: dict[Lane, int] = {}
    for lane in (lane for lane in reversed(Lane) if lane in wanting):
        able = [entry for entry in idle if lane in entry.lanes]
        found[lane] = len(able)
        idle = [entry for entry in idle if entry not in able]
    return found


@contextmanager
def _translated(app: Celery) -> Iterator[None]:
    broker = app.connection_for_write()
    try:
        yield
    except (OperationalError, *broker.connection_errors, *broker.channel_errors) as error:
        # Also what a client of the broker raises by itself, such as redis-py for a server that is full.
        fault = tls_fault(error, "SHOAL_BROKER_URL") or str(error)
        raise Unavailable(f"the broker does not take slices: {fault}") from error
