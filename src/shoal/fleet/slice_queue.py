"""The queues of slices: counts the slices that wait in a lane, and publishes more.

A slice is a wake-up message. A lost one costs the seconds until `tend` notices; a superfluous one ends without a
successor.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from kombu.exceptions import ChannelError, OperationalError

from shoal.errors import Unavailable
from shoal.fleet.message_checks import SLICE
from shoal.fleet.roster import RosterEntry
from shoal.frontier.redis.tls_errors import tls_fault
from shoal.model import Lane

SOON_S = 5.0
"""Requests that can be leased within this time count as work."""


def publish(app: Celery, lane: Lane, n: int = 1) -> None:
    """Raises Unavailable."""
    with _translated(app), app.producer_pool.acquire(block=True) as producer:
        for _ in range(n):
            app.send_task(SLICE, args=[lane.value], queue=lane.value, producer=producer, retry=False)


def waiting(app: Celery, lane: Lane) -> int:
    """The number of slices in a lane's queue. Raises Unavailable."""
    with _translated(app), app.connection_for_read() as connection, connection.channel() as channel:
        try:
            return int(channel.queue_declare(lane.value, passive=True).message_count)
        except ChannelError:
            return 0


def is_work(ready_in_s: float | None) -> bool:
    """Whether there is work, given the seconds until a request can be leased; None: never."""
    return ready_in_s is not None and ready_in_s < SOON_S


def gaps(roster: list[RosterEntry], wanting: set[Lane]) -> dict[Lane, int]:
    """How many more slices each lane with work needs: one for every idle process.

    The worst lane comes first, because its slices serve the better lanes too.
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
        # Also errors of the broker's client itself, such as those of redis-py for a full server.
        fault = tls_fault(error, "SHOAL_BROKER_URL") or str(error)
        raise Unavailable(f"the broker does not accept messages: {fault}") from error
