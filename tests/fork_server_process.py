"""The process of a fork server: loads modules, then forks for each program that it is asked to run.

It imports nothing of the tests, so that its forks have only what programs of users have.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

MESSAGE_BYTES = 200_000


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Returns what to run in each fork, and None in the server itself when nobody can ask any more."""
    wakes, woken = socket.socketpair()
    for end in (wakes, woken):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    forks: dict[int, socket.socket] = {}
    while True:
        readable = select.select([connection, woken], [], [])[0]
        if woken in readable:
            woken.recv(4096)
            report_ends(forks)
        if connection not in readable:
            continue
        message, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
        if not message:
            return None
        status = socket.socket(fileno=files[0])
        if pid := os.fork():
            for output in files[1:]:
                os.close(output)
            status.send(str(pid).encode())
            forks[pid] = status
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (connection, wakes, woken, status, *forks.values()):
            end.close()
        return {**json.loads(message), "output": files[1:]}


def report_ends(forks: dict[int, socket.socket]) -> None:
    while forks:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with forks.pop(pid) as told:
            try:
                told.send(str(os.waitstatus_to_exitcode(status)).encode())
            except BrokenPipeError:
                # The test does not ask for it.
                pass


def become(asked: dict[str, Any]) -> None:
    """Makes of this fork what `python PROGRAM`, or `python -m PROGRAM`, would be."""
    os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    for fd, output in enumerate(asked["output"], start=1):
        os.dup2(output, fd)
        os.close(output)
    sys.argv[1:] = asked["args"]
    program = asked["program"]
    if program.endswith(".py"):
        sys.path.insert(0, str(Path(program).parent))
        runpy.run_path(program, run_name="__main__")
    else:
        sys.path.insert(0, asked["cwd"])
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def main() -> None:
    # The folder of this file: its modules are the tests' own.
    del sys.path[0]
    connection = socket.socket(fileno=int(sys.argv[1]))
    for module in sys.argv[2:]:
        importlib.import_module(module)
    # Searching the modules' objects for garbage would copy their memory into each fork.
    gc.freeze()
    if asked := serve(connection):
        become(asked)


if __name__ == "__main__":
    main()
