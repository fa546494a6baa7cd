"""Protects the process from a callback: it cannot end it, stop the event loop or cancel the crawl's tasks.

What it changes is put back: the working directory, signal handlers, sys.path, stdout and stderr, the locale and
the recursion limit.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import asyncio
import locale
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NoReturn, TextIO

from shoal.spiders.callback_tasks import hide_tasks, unhide_tasks

SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGALRM, signal.SIGTERM, signal.SIGCHLD)
"""Those whose handlers a crawl depends on."""

_exit = os._exit
_get_handler = _signal.getsignal
"""signal.getsignal takes a hundred times as long."""
_set_locale = locale.setlocale
STDOUT, STDERR = 1, 2
_forks = 0
"""How many forks lie between this process and its first ancestor with this module."""
_forks_before: dict[int, int] = {}
"""Thread -> `_forks` when it began to run a user's code, for the threads that run any now."""


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class ProcessState:
    """Call `save` before the callback and `restore` after it, in the same thread. Both together take 2 µs."""

    def __init__(self) -> None:
        is_main_thread = threading.current_thread() is threading.main_thread()
        # Python lets no other thread change handlers.
        self._signals = tuple(map(int, SIGNALS)) if is_main_thread else ()
        self._handlers = tuple(map(_get_handler, self._signals))
        self._folder = _working_directory()
        self._locale: str | None = None
        """The locale before the callback changed it."""
        _spare(STDOUT), _spare(STDERR)

    def save(self) -> None:
        self._import_path = sys.path[:]
        self._streams = sys.stdout, sys.stderr
        self._recursion_limit = sys.getrecursionlimit()
        self._loop = asyncio._get_running_loop()
        if self._loop is not None:
            self._loop.stop = _refuse_stop  # type: ignore[method-assign]
            hide_tasks(self._loop)
        self._forks = _forks
        _refuse_exit_here()
        locale.setlocale = self._note_locale  # type: ignore[assignment]

    def restore(self) -> None:
        if _forks != self._forks:
            # The callback forked, and the child came back: it must not crawl as well.
            _exit(0)
        _permit_exit_here()
        if self._loop is not None:
            self._loop.__dict__.pop("stop", None)
            unhide_tasks(self._loop)
        if tuple(map(_get_handler, self._signals)) != self._handlers:
            self._restore_handlers()
        if sys.getrecursionlimit() != self._recursion_limit:
            sys.setrecursionlimit(self._recursion_limit)
        if sys.path != self._import_path:
            sys.path[:] = self._import_path
        locale.setlocale = _set_locale
        if self._locale is not None:
            _set_locale(locale.LC_ALL, self._locale)
            self._locale = None
        out, err = self._streams
        if sys.stdout is not out or (out is not None and out.closed):
            sys.stdout = _opened(out, STDOUT)
        if sys.stderr is not err or (err is not None and err.closed):
            sys.stderr = _opened(err, STDERR)
        if _working_directory() != self._folder and self._folder is not None:
            # If the folder was removed meanwhile, there is no way back.
            with suppress(OSError):
                os.chdir(self._folder)

    def _restore_handlers(self) -> None:
        for number, handler in zip(self._signals, self._handlers, strict=True):
            # None: installed by C code, and Python cannot install it again.
            if handler is not None:
                signal.signal(number, handler)

    def _note_locale(self, category: int, value: Any = None) -> str:
        # Asking for the locale around each callback would take a third of a microsecond.
        if value is not None and self._locale is None:
            self._locale = _set_locale(locale.LC_ALL)
        return _set_locale(category, value)


@contextmanager
def process_protected() -> Iterator[None]:
    """Only if no callback runs in another thread meanwhile: what that changes would be kept."""
    state = ProcessState()
    state.save()
    try:
        yield
    finally:
        state.restore()


@contextmanager
def exit_refused() -> Iterator[None]:
    """For code beside which callbacks run in another thread: it cannot end the process."""
    _refuse_exit_here()
    try:
        yield
    finally:
        _permit_exit_here()


def _refuse_exit_here() -> None:
    _forks_before[threading.get_ident()] = _forks
    os._exit = _refuse_exit


def _permit_exit_here() -> None:
    del _forks_before[threading.get_ident()]
    if not _forks_before:
        os._exit = _exit


def _refuse_exit(status: int) -> NoReturn:
    # A child that the user's code forked, and any other thread, may exit.
    if _forks_before.get(threading.get_ident()) != _forks:
        _exit(status)
    raise SystemExit(f"os._exit({status})")


def _refuse_stop() -> NoReturn:
    raise RuntimeError("a callback cannot stop the event loop of the crawl")


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a Path takes longer
    except OSError:
        return None


@cache
def _spare(number: int) -> int | None:
    """A duplicate of a file that a callback does not close."""
    try:
        return os.dup(number)
    except OSError:
        return None


def _opened(stream: TextIO, number: int) -> TextIO:
    """The stream, or another one to its file if it is closed."""
    if stream is None or not stream.closed:
        return stream
    spare = _spare(number)
    target = os.devnull if spare is None else os.dup(spare)
    return open(target, "w", buffering=1, encoding=stream.encoding, errors=stream.errors)  # noqa: PTH123
