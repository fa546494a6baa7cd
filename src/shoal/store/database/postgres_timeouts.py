"""A connection to PostgreSQL that does not wait for ever.

A server whose process was stopped keeps its sockets open, and no lower layer notices. A statement may take as long as
it needs. But when it has been silent for a while, this opens a second connection as a probe. If the server does not
answer that either, the statement fails and the connection is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

RV = TypeVar("RV")


class TimeoutConnection(psycopg.Connection[Any]):
    patience_s: float
    probe: Callable[[], psycopg.Connection[Any]]

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        return super().wait(self._until_server_is_silent(gen), *args, **named)

    def _until_server_is_silent(self, gen: PQGen[RV]) -> Generator[Any, Any, RV]:
        last_answer = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    last_answer = now
                elif now - last_answer > self.patience_s:
                    self._probe()
                    last_answer = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as ended:
            result: RV = ended.value
            return result

    def _probe(self) -> None:
        try:
            self.probe().close()
        except psycopg.errors.ConnectionTimeout:
            self.close()
            raise psycopg.OperationalError("the server does not answer") from None
        except psycopg.OperationalError:
            # The server refuses the connection for a reason of its own, so it is alive.
            return


def connect(parameters: dict[str, Any]) -> TimeoutConnection:
    """Uses libpq's `tcp_user_timeout` in ms: how long the server may leave what was sent unanswered."""
    connection = TimeoutConnection.connect(**parameters)
    connection.patience_s = int(parameters["tcp_user_timeout"]) / 1000
    connection.probe = lambda: psycopg.connect(**parameters)
    return connection
