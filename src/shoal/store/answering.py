"""A connection to PostgreSQL that does not wait for ever: a server that was stopped keeps its sockets open, and nothing
below notices.

A statement may take as long as it needs. When it has been silent for a while, the server is asked for another
connection; if it gives none, the statement fails and the connection is closed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

RV = TypeVar("RV")


class Answering(psycopg.Connection[Any]):
    patience_s: float
    probe: Callable[[], psycopg.Connection[Any]]

    def wait(self, gen: PQGen[RV], *args: Any, **named: Any) -> RV:
        return super().wait(self._while_answered(gen), *args, **named)

    def _while_answered(self, gen: PQGen[RV]) -> Generator[Any, Any, RV]:
        asked = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    asked = now
                elif now - asked > self.patience_s:
                    self._probe()
                    asked = time.monotonic()
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
            # It refuses for a reason of its own, and so it is there.
            return


def connect(parameters: dict[str, Any]) -> Answering:
    """By what libpq calls `tcp_user_timeout`: how long, in ms, what was sent may go without an answer."""
    connection = Answering.connect(**parameters)
    connection.patience_s = int(parameters["tcp_user_timeout"]) / 1000
    connection.probe = lambda: psycopg.connect(**parameters)
    return connection
