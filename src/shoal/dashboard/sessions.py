"""Sessions of people who are logged in, and the one-time codes of login links.

A session is a random text in a cookie. The server keeps its hash only, with the id of the token that logged in. A form
carries a second text that is made from the first, so that no other site can send it.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Protocol

SESSION_S = 12 * 3600
CODE_S = 15 * 60
_BYTES = 24
_MOST = 1_000


class Sessions(Protocol):
    """Keeps which token a secret stands for. Secrets are hashed before they come here."""

    def keep(self, kind: str, hashed: str, token: str, seconds: int) -> None: ...

    def find(self, kind: str, hashed: str) -> str | None: ...

    def take(self, kind: str, hashed: str) -> str | None:
        """Removes it: of two callers, one gets it."""


def start_session(sessions: Sessions, token: str) -> str:
    return _start(sessions, "session", token, SESSION_S)


def login_code(sessions: Sessions, token: str) -> str:
    """For a link that works once, within a quarter of an hour."""
    return _start(sessions, "code", token, CODE_S)


def token_of_session(sessions: Sessions, secret: str) -> str | None:
    return sessions.find("session", _hash(secret))


def end_session(sessions: Sessions, secret: str) -> None:
    sessions.take("session", _hash(secret))


def token_of_code(sessions: Sessions, code: str) -> str | None:
    return sessions.take("code", _hash(code))


def form_key(secret: str) -> str:
    return hmac.new(secret.encode("utf-8", "surrogatepass"), b"form", sha256).hexdigest()


def is_form_key(secret: str, given: str) -> bool:
    return hmac.compare_digest(form_key(secret).encode(), given.encode("utf-8", "surrogatepass"))


def _start(sessions: Sessions, kind: str, token: str, seconds: int) -> str:
    secret = secrets.token_urlsafe(_BYTES)
    sessions.keep(kind, _hash(secret), token, seconds)
    return secret


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class MemorySessions:
    """For one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def keep(self, kind: str, hashed: str, token: str, seconds: int) -> None:
        with self._lock:
            now = self._clock()
            self._kept = {key: kept for key, kept in self._kept.items() if kept[1] > now}
            while len(self._kept) >= _MOST:
                del self._kept[next(iter(self._kept))]
            self._kept[kind, hashed] = token, now + seconds

    def find(self, kind: str, hashed: str) -> str | None:
        with self._lock:
            return self._valid(self._kept.get((kind, hashed)))

    def take(self, kind: str, hashed: str) -> str | None:
        with self._lock:
            return self._valid(self._kept.pop((kind, hashed), None))

    def _valid(self, kept: tuple[str, float] | None) -> str | None:
        return kept[0] if kept is not None and kept[1] > self._clock() else None
