"""The calls of a view that stays open. Those of an API run in a thread, one after the other. So an API that is silent
freezes neither the screen nor the keys, and the view can say how long it has been silent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

from shoal.cli.humanize import duration
from shoal.cli.session import NOTICED_AFTER_S, Session
from shoal.errors import NoAnswer

LOOK_EVERY_S = 0.5
READ_TIMEOUT_S = 8.0
"""A machine that vanished never answers what it was asked, not even when it is back: it must be asked again."""
T = TypeVar("T")


def no_answer(api: str, silent_s: float) -> str:
    return f"no answer from {api} for {duration(int(silent_s))}; still trying"


class LiveCalls:
    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        # Who opens it shows `silence` instead.
        session.says_silence = False
        self._api = session.settings.shown("api_url") if session.settings.api_url else None
        self._clock = clock
        self._unanswered_since: float | None = None
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        if self._api:
            # A daemon: the command can end while a call waits.
            threading.Thread(target=self._work, name="api-calls", daemon=True).start()

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Without an API the call is made at once, here. A call that has not begun can be cancelled."""
        future: Future[T] = Future()
        if self._api:
            self._queue.put(lambda: self._make(call, future))
        else:
            self._make(call, future)
        return future

    def answered(self, call: Callable[[], T], notice: Callable[[str], None]) -> T:
        """Waits for the answer, and gives `notice` what to say about the silence again and again."""
        if not self._api:
            return call()
        future = self.begin(call)
        while not wait([future], LOOK_EVERY_S).done:
            if silence := self.silence:
                notice(silence)
        return future.result()

    @property
    def silence(self) -> str | None:
        """What to say if the API has not answered for some seconds."""
        since = self._unanswered_since
        if since is None or (silent_s := self._clock() - since) < NOTICED_AFTER_S:
            return None
        return no_answer(self._api or "", silent_s)

    def _work(self) -> None:
        while True:
            self._queue.get()()

    def _make(self, call: Callable[[], T], future: Future[T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        if self._unanswered_since is None:
            self._unanswered_since = self._clock()
        try:
            result: Any = call()
        except NoAnswer as error:
            # The silence began with the first call that got no answer.
            future.set_exception(error)
        except Exception as error:
            # Raised where the answer is taken.
            self._unanswered_since = None
            future.set_exception(error)
        else:
            self._unanswered_since = None
            future.set_result(result)
