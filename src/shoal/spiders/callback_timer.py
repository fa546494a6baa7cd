"""Raises CallbackTimeout in a callback that takes too long.

In the main thread a timer signal raises it. Outside, as on a fleet, another thread raises it. It is raised again every
second, and it is no Exception, because many a callback repeats what fails.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any, Protocol

from shoal.spiders.thread_exception import raise_in, withdraw

AGAIN_S = 1.0
CALLERS = ("shoal.spiders.run_callback", "shoal.spiders.callback_limits")
"""The modules that call callbacks."""


class CallbackTimeout(BaseException):
    pass


class Timer(Protocol):
    """Raises CallbackTimeout in the code between `start` and `stop` if that takes longer."""

    def start(self, seconds: float) -> None: ...

    def stop(self) -> None: ...


class _Alarm:
    """For the main thread, the only one that receives signals."""

    def __init__(self) -> None:
        self._is_running = False
        self._was_ignored = False
        """A callback caught the exception and went on."""

    def install(self) -> None:
        signal.signal(signal.SIGALRM, self._ring)

    def start(self, seconds: float) -> None:
        self._is_running, self._was_ignored = True, False
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)

    def stop(self) -> None:
        self._is_running = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def _ring(self, _signal: int, frame: types.FrameType | None) -> None:
        if not self._is_running:
            return
        if self._was_ignored:
            _raise_at_next_line(frame)
        self._was_ignored = True
        raise CallbackTimeout


def _raise_at_next_line(frame: types.FrameType | None) -> None:
    """Raises the exception once more in the handler that catches this one, so that `except:` does not keep a loop
    going for ever."""

    def raise_timeout(_frame: types.FrameType, event: str, _arg: Any) -> Any:
        # The event before the first line of the handler is the exception itself, still inside `try`.
        if event != "line":
            return raise_timeout
        sys.settrace(tracer)
        raise CallbackTimeout

    tracer = sys.gettrace()
    frames = list(_callback_frames(frame))
    for inner in frames:
        inner.f_trace = raise_timeout
    if frames:
        sys.settrace(lambda *_: None)


def _callback_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    while frame is not None and frame.f_globals.get("__name__") not in CALLERS:
        yield frame
        frame = frame.f_back


class _WatchThread:
    """For any other thread: a second thread checks the time and raises the exception in the first.

    It ends with the first one. A later thread may get the same identifier, and must not get its exception.
    """

    CHECK_EVERY_S = 0.25

    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread
        self._watched = thread.ident or 0
        self._deadline: float | None = None
        self._raised = False
        self._turn = threading.Lock()
        threading.Thread(target=self._watch, name="callback-time", daemon=True).start()

    def start(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds

    def stop(self) -> None:
        with self._turn:
            self._deadline = None
            if self._raised:
                # The callback may have ended by itself just before the exception reached it.
                self._raised = False
                withdraw(self._watched)

    def _watch(self) -> None:
        while self._thread.is_alive():
            time.sleep(self.CHECK_EVERY_S)
            with self._turn:
                is_up = self._deadline is not None and time.monotonic() > self._deadline
                if is_up and self._thread.is_alive():
                    self._deadline, self._raised = time.monotonic() + AGAIN_S, True
                    raise_in(self._watched, CallbackTimeout)


def timer_of_this_thread() -> Timer:
    if threading.current_thread() is threading.main_thread():
        _alarm.install()
        return _alarm
    if not hasattr(_of_thread, "timer"):
        _of_thread.timer = _WatchThread(threading.current_thread())
    timer: _WatchThread = _of_thread.timer
    return timer


_alarm = _Alarm()
_of_thread = threading.local()
"""One timer per thread, however many jobs' callbacks run there."""
