"""A MariaDB server for the tests, on loopback, from the system's package; never the system's own server."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pymysql
import pytest

from tests.frontier.redis_server import free_port

START_S = 120.0
PASSWORD = "hush"
# Without syncing: no test cuts the power.
_QUICK = ("--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0", "--innodb-buffer-pool-size=16M", "--skip-log-bin")


class MariadbServer:
    def __init__(self) -> None:
        self._program = _program()
        # Not in pytest's directories, which only their owner may enter: the server does not run as root.
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-mariadb-"))
        self._user = pwd.getpwnam("mysql").pw_name if os.geteuid() == 0 else None
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={self._folder}/data", "--skip-test-db"]
        subprocess.run(
            [*install, "--auth-root-authentication-method=normal", *_QUICK[:1]],
            check=True,
            user=self._user,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.port = free_port()
        self.start()
        self.run(f"CREATE USER shoal@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'", "GRANT ALL ON *.* TO shoal@'127.0.0.1'")

    def __enter__(self) -> MariadbServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def url(self, database: str) -> str:
        return f"mysql://shoal:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str) -> None:
        with self._connect() as db, db.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def start(self) -> None:
        place = [f"--datadir={self._folder}/data", f"--port={self.port}", "--bind-address=127.0.0.1"]
        place += [f"--socket={self._socket}", f"--pid-file={self._folder}/pid"]
        with (self._folder / "log").open("ab") as log:
            command = [self._program, "--no-defaults", *place, *_QUICK]
            self._process = subprocess.Popen(command, user=self._user, cwd="/", stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert time.monotonic() < deadline and self._process.poll() is None, (self._folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        self._socket.unlink(missing_ok=True)

    @contextmanager
    def away(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.start()

    @property
    def _socket(self) -> Path:
        return self._folder / "socket"

    def _connect(self) -> Any:
        return pymysql.connect(unix_socket=str(self._socket), user="root", autocommit=True)

    def _answers(self) -> bool:
        if not self._socket.exists():
            return False
        try:
            self._connect().close()
        except pymysql.OperationalError:
            return False
        return True


def _program() -> str:
    """Debian puts it where only root's PATH leads."""
    program = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")
    if program is None and os.environ.get("CI") != "true":
        pytest.skip("MariaDB is missing: install it (Debian, Ubuntu: apt-get install mariadb-server)")
    assert program, "MariaDB is missing"
    return program
