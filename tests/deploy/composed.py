"""compose.yaml without Docker: every service's command and environment as a process of this machine.

Names of services become loopback addresses with free ports, the paths of volumes folders of the test; everything else
is run as it stands there. A service starts when those that it depends on are as it wants them.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.frontier.redis_server import free_port, redis_program
from tests.store.postgres_server import PASSWORD, PostgresServer

ROOT = Path(__file__).parents[2]
FILE = ROOT / "compose.yaml"
START_S = 120.0
_VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
HOME = "/var/lib/shoal"
API_PORT = "8000"
VARIABLES = {"POSTGRES_PASSWORD": PASSWORD, "REDIS_PASSWORD": "hush4711"}


def services(variables: dict[str, str]) -> dict[str, dict[str, Any]]:
    """As Compose reads them."""
    return compose_file(variables)["services"]


def compose_file(variables: dict[str, str]) -> dict[str, dict[str, Any]]:
    """With the values that .env has."""

    def value(found: re.Match[str]) -> str:
        name, mark, text = found.groups()
        assert variables.get(name) or mark != "?", f"{name} is missing: {text}"
        return variables.get(name) or text or ""

    def filled(read: Any) -> Any:
        if isinstance(read, dict):
            return {key: filled(each) for key, each in read.items()}
        if isinstance(read, list):
            return [filled(each) for each in read]
        return _VARIABLE.sub(value, read) if isinstance(read, str) else read

    found: dict[str, dict[str, Any]] = filled(yaml.safe_load(FILE.read_text()))
    return found


@dataclass
class Composed:
    folder: Path
    env: dict[str, str]
    """What is added to every role's environment."""
    api_port: int = field(default_factory=free_port)
    redis_port: int = field(default_factory=free_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Composed:
        self.home.mkdir()
        self.services = services(VARIABLES)
        self._postgres = PostgresServer()
        try:
            for name in self.order():
                self.start(name)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def order(self) -> list[str]:
        """Each after those that it depends on."""
        ordered: list[str] = []
        while len(ordered) < len(self.services):
            ready = [
                name
                for name, service in self.services.items()
                if name not in ordered and set(service.get("depends_on", ())) <= set(ordered)
            ]
            assert ready, "services wait for each other"
            ordered += ready
        return ordered

    def start(self, name: str) -> None:
        service = self.services[name]
        if name == "postgres":
            self._postgres.run(f"CREATE DATABASE {service['environment']['POSTGRES_DB']}")
            return
        log = (self.folder / f"{name}.log").open("ab")
        with log:
            folder = self.folder / f"{name}-folder"
            folder.mkdir()
            self.processes[name] = subprocess.Popen(
                self.command(name), cwd=folder, env=self.environment(name), stdout=log, stderr=log
            )
        if service.get("restart") == "no":
            assert self.processes.pop(name).wait(START_S) == 0, self.said(name)
        else:
            self._until_healthy(name)

    def _until_healthy(self, name: str) -> None:
        deadline = time.monotonic() + START_S
        while self.health(name) != 0:
            assert time.monotonic() < deadline and self.processes[name].poll() is None, self.said(name)
            time.sleep(0.5)

    def health(self, name: str) -> int:
        """The exit code of the service's own check."""
        kind, *words = self.services[name]["healthcheck"]["test"]
        assert kind == "CMD"
        return subprocess.run(
            self._here(words), env=self.environment(name), cwd=self.folder, capture_output=True
        ).returncode

    def end(self, name: str) -> int:
        """Its exit code, within the time that Compose would give it."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(float(self.services[name]["stop_grace_period"].removesuffix("s")))

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()
        self._postgres.__exit__(None, None, None)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-3000:]

    def environment(self, name: str) -> dict[str, str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SHOAL_")}
        told = {key: self._placed(value) for key, value in self.services[name].get("environment", {}).items()}
        return clean | told | self.env

    def command(self, name: str) -> list[str]:
        service = self.services[name]
        words: list[str] = service["command"]
        if "build" in service:
            return [*_entry_point(), *map(self._placed, words)]
        assert words[0] == "redis-server"
        mounted = dict(reversed(volume.split(":")[:2]) for volume in service["volumes"])
        here = {there: str(ROOT / path) for there, path in mounted.items()} | self._configs(service)
        given = [here.get(word, word) for word in words[1:]]
        return [redis_program(), *given, "--port", str(self.redis_port), "--bind", "127.0.0.1"]

    def _configs(self, service: dict[str, Any]) -> dict[str, str]:
        """Where they are mounted -> a file here."""
        written = {}
        for config in service["configs"]:
            path = self.folder / config["source"]
            path.write_text(compose_file(VARIABLES)["configs"][config["source"]]["content"])
            written[config["target"]] = str(path)
        return written

    def _here(self, words: list[str]) -> list[str]:
        programs = {
            "shoal": _entry_point(),
            "python": [sys.executable],
            "redis-cli": ["redis-cli", "-p", str(self.redis_port)],
        }
        return [*programs[words[0]], *map(self._placed, words[1:])]

    def _placed(self, text: str) -> str:
        for there, here in (
            ("redis:6379", f"127.0.0.1:{self.redis_port}"),
            ("postgres:5432", f"127.0.0.1:{self._postgres.port}"),
            ("0.0.0.0", "127.0.0.1"),
            (f":{API_PORT}", f":{self.api_port}"),
            (HOME, str(self.home)),
        ):
            text = text.replace(there, here)
        return str(self.api_port) if text == API_PORT else text


def _entry_point() -> list[str]:
    """What the image runs."""
    words = re.search(r'^ENTRYPOINT \["shoal"\]$', (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert words, "the image's entry point is shoal, in exec form"
    return [sys.executable, "-m", "shoal"]
