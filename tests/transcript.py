"""Runs what a page of the docs shows: writes its files, types its commands, compares what they print.

A block ```` ```python books.py ```` is a file; in a ```` ```console ```` block each `$` begins a command and the lines
below are what it prints on the terminal. `^C` there is a Ctrl-C once pages have come. The practice site's port 8000 is
replaced by a free one of as many digits, so that every table keeps its columns. Job ids, times, speeds, and the figures
of an interrupted crawl may differ.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.cli.conftest import Here
from tests.cli.crawling import until

PORT = "8000"
HOME = "/home/ann"
SERVE = "python -m shoal.practice"
CTRL_C = "^C\n"
TIMEOUT_S = 120.0
PORT_TRIES = 20

_FENCE = re.compile(r"^```(\w+) ?(.*)\n((?:.*\n)*?)^```$", re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_JOB = re.compile(r"\bjob (\w{11}): ")
_VARYING = (
    (re.compile(r"\b[\d.]+m?s\b"), "TIME"),
    (re.compile(r"[\d.]+ p/s"), "SPEED"),
    (re.compile(r'("control": "http://127\.0\.0\.1):\d+'), r"\1:PORT"),
)
_FIGURE = re.compile(r"[\d.,]*\d(?: (\w+?)s?\b)?")


@dataclass(frozen=True, slots=True)
class File:
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    text: str
    prints: str


def steps(page: Path) -> Iterator[File | Command]:
    for language, name, text in _FENCE.findall(page.read_text()):
        if name:
            yield File(name, text)
        elif language == "console":
            yield from (Command(*found) for found in _COMMAND.findall(text))


class Terminal:
    """One folder, and the processes that were left running in it until the block ends."""

    def __init__(self, folder: Path, environment: Mapping[str, str] = {}) -> None:
        """`environment`: what a user has exported before."""
        self._folder = folder
        self._environment = environment
        self._port = 0
        self._sites: list[subprocess.Popen[str]] = []
        self._jobs: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        for site in self._sites:
            site.terminate()
            site.communicate(timeout=TIMEOUT_S)

    def follow(self, page: Path) -> None:
        for step in steps(page):
            if isinstance(step, File):
                (self._folder / step.name).write_text(self._here(step.text))
                continue
            if step.text.startswith(SERVE):
                printed = self._serve(step)
                self._bring(page.parent)
            else:
                printed = self._run(step)
            assert self._alike(printed) == self._alike(self._here(step.prints)), f"{page}: $ {step.text}\n{printed}"

    def _bring(self, folder: Path) -> None:
        """What lies beside the page is where it is followed."""
        for file in folder.iterdir():
            if file.suffix in (".py", ".yaml"):
                (self._folder / file.name).write_text(self._here(file.read_text()))

    def _here(self, text: str) -> str:
        return text.replace(PORT, str(self._port))

    def _serve(self, command: Command) -> str:
        """Leaves the practice site running; what it prints when it is ready is one line."""
        for _ in range(PORT_TRIES):
            self._port = random.randrange(2000, 10_000)
            site = self._start(self._here(command.text))
            assert site.stdout
            line = site.stdout.readline()
            if line.startswith("{"):
                self._sites.append(site)
                return line
            site.communicate(timeout=TIMEOUT_S)
        raise AssertionError(f"{PORT_TRIES} ports were taken, or: {line}")

    def _run(self, command: Command) -> str:
        with self._start(self._here(command.text)) as process:
            if CTRL_C in command.prints:
                shell = Here(self._folder)
                until(lambda: any(job["state"] == "running" and job["items"] for job in shell("jobs", "--json").lines))
                os.killpg(process.pid, signal.SIGINT)
            printed, _ = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == (130 if CTRL_C in command.prints else 0), f"$ {command.text}\n{printed}"
        return printed

    def _start(self, command: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
        environment |= {"HOME": str(self._folder), "COLUMNS": "80", **self._environment}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        return subprocess.Popen(
            ["bash", "-c", command],
            cwd=self._folder,
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def _alike(self, printed: str) -> str:
        """What must be the same on every machine and at every time."""
        text = printed.replace(str(self._folder), HOME).replace(CTRL_C, "")
        self._jobs.update(_JOB.findall(text))
        for job in self._jobs:
            text = text.replace(job, "JOB")
        for pattern, word in _VARYING:
            text = pattern.sub(word, text)
        return _FIGURE.sub(r"N \1", text) if ": interrupted, " in text else text
