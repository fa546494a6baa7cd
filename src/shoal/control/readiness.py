"""Checks whether Redis, the database and the archive can be used; anybody may ask, as often as they like.

Each server is checked in its own thread, by one check at a time and at most every two seconds. After two seconds
without an answer the check counts as failed, and nobody waits for that server again until it has answered.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from typing import Any, cast

from flask import current_app

from shoal.control.async_bridge import Bridge
from shoal.errors import ShoalError

WITHIN_S = 2.0
KNOWN_S = 2.0
ARCHIVE = "archive"
ARCHIVE_KNOWN_S = 15.0
"""Providers of buckets charge for each request."""
_NAME = "shoal-readiness"


class ServerCheck:
    def __init__(self, name: str, ask: Callable[[], str | None], known_s: float = KNOWN_S) -> None:
        """`ask` returns an error message or None, or raises ShoalError. It is asked at most every `known_s`."""
        self._known_s = known_s
        self._name = name
        self._ask = ask
        self._lock = threading.Lock()
        self._asked_at = 0.0
        self._answer: Future[str | None] = Future()
        self._answer.set_result(None)

    def fault(self) -> str | None:
        """The error message; None: the server can be used."""
        answer, until = self.asked()
        try:
            return answer.result(max(0.0, until - time.monotonic()))
        except TooLate:
            return f"{self._name} does not answer within {WITHIN_S:g} s"

    def asked(self) -> tuple[Future[str | None], float]:
        """The result of the current check, and the time until which to wait for it."""
        with self._lock:
            now = time.monotonic()
            if self._answer.done() and now - self._asked_at > self._known_s:
                self._answer, self._asked_at = Future(), now
                # A daemon thread: the process can end even if the check hangs.
                threading.Thread(target=self._look, args=[self._answer], name="readiness", daemon=True).start()
            return self._answer, self._asked_at + WITHIN_S

    def _look(self, answer: Future[str | None]) -> None:
        fault: str | None = f"{self._name} does not work"
        try:
            fault = self._ask()
        except ShoalError:
            # Not the error's message: anybody may call this, and the message has an address.
            pass
        finally:
            answer.set_result(fault)


def register(over: Bridge, extensions: dict[str, Any]) -> None:
    extensions[_NAME] = {
        "redis": ServerCheck("Redis", lambda: _ask_redis(over)),
        "database": ServerCheck("the database", lambda: _ask_database(over)),
        ARCHIVE: ServerCheck("the archive", lambda: _ask_archive(over), ARCHIVE_KNOWN_S),
    }


def faults() -> dict[str, str | None]:
    """Error messages by server; None: it can be used."""
    servers = cast(dict[str, ServerCheck], current_app.extensions[_NAME])
    # Start all checks first, so that two silent servers take no longer than one.
    for server in servers.values():
        server.asked()
    return {name: server.fault() for name, server in servers.items()}


def _ask_redis(over: Bridge) -> None:
    over.run(over.connection.command("PING"), WITHIN_S)


def _ask_database(over: Bridge) -> str | None:
    return None if over.store.is_current() else "the database schema is not of this version: run `shoal db upgrade`"


def _ask_archive(over: Bridge) -> None:
    over.archive.stored.check()
