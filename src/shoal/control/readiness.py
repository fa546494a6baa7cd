"""Whether Redis and the database can be used, for anybody who asks and however often.

Each is asked in a thread of its own, by one at a time and once in a few seconds; one that says nothing is given up
after two, and nobody waits for it again until it has answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from typing import Any, cast

from flask import current_app

from shoal.control.bridge import Bridge
from shoal.errors import ShoalError

WITHIN_S = 2.0
KNOWN_S = 2.0
_NAME = "shoal-readiness"


class Server:
    def __init__(self, name: str, ask: Callable[[], str | None]) -> None:
        """`ask` gives what is wrong, in words, or raises ShoalError."""
        self._name = name
        self._ask = ask
        self._lock = threading.Lock()
        self._asked_at = 0.0
        self._answer: Future[str | None] = Future()
        self._answer.set_result(None)

    def fault(self) -> str | None:
        """In words; None if it can be used."""
        answer, until = self.asked()
        try:
            return answer.result(max(0.0, until - time.monotonic()))
        except TooLate:
            return f"{self._name} does not answer within {WITHIN_S:g} s"

    def asked(self) -> tuple[Future[str | None], float]:
        """What it says, or will have said by then."""
        with self._lock:
            now = time.monotonic()
            if self._answer.done() and now - self._asked_at > KNOWN_S:
                self._answer, self._asked_at = Future(), now
                # Whatever it is stuck in, the process can end.
                threading.Thread(target=self._look, args=[self._answer], name="readiness", daemon=True).start()
            return self._answer, self._asked_at + WITHIN_S

    def _look(self, answer: Future[str | None]) -> None:
        fault: str | None = f"{self._name} does not answer as it should"
        try:
            fault = self._ask()
        except ShoalError:
            # Not in its words: anybody may ask this, and they have an address.
            pass
        finally:
            answer.set_result(fault)


def register(over: Bridge, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = {
        "redis": Server("Redis", lambda: _ask_redis(over)),
        "database": Server("the database", lambda: _ask_database(over)),
    }


def faults() -> dict[str, str | None]:
    """By server; None: it can be used."""
    servers = cast(dict[str, Server], current_app.extensions[_NAME])
    # First all, so that two which say nothing take no longer than one.
    for server in servers.values():
        server.asked()
    return {name: server.fault() for name, server in servers.items()}


def _ask_redis(over: Bridge) -> None:
    over.run(over.connection.command("PING"), WITHIN_S)


def _ask_database(over: Bridge) -> str | None:
    return None if over.store.is_current() else "the database has no tables of this version: run `shoal db upgrade`"
