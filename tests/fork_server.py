"""Starts Python programs as `python -m` does, but as forks of a process that has loaded their libraries already.

    server = ForkServer("celery.bin.worker", "shoal.fleet.tend")
    process = server.start("shoal", "tend", cwd=folder, env=env, output=log)

Each is a process with a session, an environment and files of its own, and runs its whole program. Only imports are
saved: they are most of the CPU that a start takes.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

PROGRAM = Path(__file__).parent / "fork_server_process.py"


class ForkedProcess:
    """As much of `subprocess.Popen` as tests use. Its parent is the fork server, which reports its end."""

    def __init__(self, status: socket.socket) -> None:
        self._status = status
        self.pid = int(status.recv(32))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return code

    def send_signal(self, what: int) -> None:
        if self.poll() is None:
            # It may end in between.
            with suppress(ProcessLookupError):
                os.kill(self.pid, what)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout_s)[0]:
            self.returncode = int(self._status.recv(32))
            self._status.close()
        return self.returncode


class ForkServer:
    """Ends with the process that made it; its forks do not."""

    def __init__(self, *modules: str) -> None:
        self._connection, theirs = _pair()
        with theirs:
            command = [sys.executable, str(PROGRAM), str(theirs.fileno()), *modules]
            # In its own session: Ctrl-C is for the tests only.
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], start_new_session=True)

    def start(
        self,
        program: str,
        *args: str,
        cwd: Path,
        env: Mapping[str, str],
        output: IO[Any],
        errors: IO[Any] | None = None,
    ) -> ForkedProcess:
        """`program`: a module, or the path of a file. `output` gets its stderr too, unless `errors` is given."""
        ours, theirs = _pair()
        asked = json.dumps({"program": program, "args": args, "cwd": str(cwd), "env": dict(env)})
        with theirs:
            files = [theirs.fileno(), output.fileno(), (errors or output).fileno()]
            socket.send_fds(self._connection, [asked.encode()], files)
        return ForkedProcess(ours)

    def close(self) -> None:
        self._connection.close()
        self._process.wait()


def _pair() -> tuple[socket.socket, socket.socket]:
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
