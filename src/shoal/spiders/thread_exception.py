"""Raises an exception in another thread, the way CPython offers for it.

CPython has one flag for all threads: some thread has an exception waiting. A thread clears it only when it takes an
exception of its own. While the flag is set, all Python code runs slower, and CPython 3.11 repeats the first instruction
of a traced function (debugger, coverage, hypothesis) for ever. A thread that waits in C may never take its exception,
and nobody takes an exception that is withdrawn. So both functions clear the flag before they return. Nothing is lost:
a thread with an exception waiting sets the flag again when it continues.
"""

from __future__ import annotations

import ctypes
import threading


class _ClearFlag(BaseException):
    pass


def raise_in(thread: int, error: type[BaseException]) -> None:
    """Raises `error` in another thread than the caller's, when that thread executes Python code."""
    _set_exception(thread, error)
    _clear_flag()


def withdraw(thread: int) -> None:
    """Takes back an exception that has not been raised yet, if there is one."""
    _set_exception(thread, None)
    _clear_flag()


def _clear_flag() -> None:
    try:
        _set_exception(threading.get_ident(), _ClearFlag)
        while True:
            pass
    except _ClearFlag:
        pass


def _set_exception(thread: int, error: type[BaseException] | None) -> None:
    raised = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
