"""Shared by the tests of sources and lists: writes files, and reads arguments into inputs."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.model import Input
from shoal.spiders.input_sources import Sources, read_sources
from shoal.urls import Params

Write = Callable[[str, bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return written


def sources(*words: str, column: str | None = None, stdin: bytes = b"") -> Sources:
    return read_sources(words, Params(), "host", column, io.BytesIO(stdin))


def inputs(*words: str, column: str | None = None, stdin: bytes = b"") -> list[Input]:
    return list(sources(*words, column=column, stdin=stdin).inputs)
