"""A PostgreSQL server for the tests, on loopback, from the system's package; never the system's own server."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

import psycopg
import pytest

from tests.frontier.redis_server import free_port

START_S = 120.0
PASSWORD = "hush"
# Without fsync: no test cuts the power.
_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB", "autovacuum=off")


class PostgresServer:
    def __init__(self) -> None:
        self._programs = _programs()
        # Not in pytest's directories, which only their owner may enter: the server refuses to run as root.
        self._folder = Path(tempfile.mkdtemp(prefix="shoal-postgres-"))
        self._user = _user()
        if self._user is not None:
            shutil.chown(self._folder, self._user)
        self._data = self._folder / "data"
        initdb = [f"{self._programs}/initdb", "-D", str(self._data), "-U", "shoal", "-A", "trust"]
        initdb += ["-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(initdb, check=True, user=self._user, cwd="/", stdout=subprocess.DEVNULL)
        self.port = free_port()
        self.start()

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://shoal:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        with psycopg.connect(self.url(database), autocommit=True) as db:
            for statement in statements:
                db.execute(statement.encode())

    def start(self) -> None:
        place = ["-D", str(self._data), "-p", str(self.port), "-h", "127.0.0.1", "-k", str(self._folder)]
        options = [word for setting in _QUICK for word in ("-c", setting)]
        with (self._folder / "log").open("ab") as log:
            command = [f"{self._programs}/postgres", *place, *options]
            self._process = subprocess.Popen(command, user=self._user, cwd="/", stdout=log, stderr=log)
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert time.monotonic() < deadline and self._process.poll() is None, (self._folder / "log").read_text()
            time.sleep(0.02)

    def take_tls(self, certificate: Path, key: Path) -> None:
        """Enables TLS; clients that do not ask for it may connect without."""
        for source, name in ((certificate, "server.crt"), (key, "server.key")):
            place = Path(shutil.copy(source, self._data / name))
            place.chmod(0o600)
            if self._user is not None:
                shutil.chown(place, self._user)
        self.run("ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")

    def stop(self) -> None:
        """Ends every session at once."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(START_S)

    @contextmanager
    def away(self) -> Iterator[None]:
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Its sockets stay open and accept data."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, what: signal.Signals) -> None:
        """Signals the server and every session, because each has its own process group."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
        for pid in (self._process.pid, *map(int, children.split())):
            # A session may end at any moment: it does when it continues and finds that its client is gone.
            with suppress(ProcessLookupError):
                os.kill(pid, what)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url()).close()
        except psycopg.OperationalError:
            return False
        return True


def fresh_database(server: PostgresServer, name: str) -> Iterator[str]:
    """The URL of an empty database, which is removed afterwards."""
    server.run(f"CREATE DATABASE {name}")
    yield server.url(name)
    server.run(f"DROP DATABASE {name} WITH (FORCE)")


def _programs() -> Path:
    """Debian does not put them in the PATH."""
    found = shutil.which("postgres")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places and os.environ.get("CI") != "true":
        pytest.skip("PostgreSQL is missing: install it (Debian, Ubuntu: apt-get install postgresql)")
    assert places, "PostgreSQL is missing"
    return places[-1]


def _user() -> str | None:
    """The user that the server runs as; None: the current user."""
    return pwd.getpwnam("postgres").pw_name if os.geteuid() == 0 else None
