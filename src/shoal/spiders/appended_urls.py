"""URLs for an existing job, read as they arrive: earlier ones do not stay in memory.

Only the store knows which of them are new. A line that is not a URL becomes an input with a reason, as in a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from shoal.errors import InvalidURL
from shoal.model import Input, JobSpec, Target
from shoal.spiders.input_sources import input_target
from shoal.spiders.url_lists import (
    ANYTHING_WITH_AT,
    AUTHORITY_WITH_USER,
    Entry,
    bare,
    json_entries,
    safe_columns,
    spelt_safely,
    stream_entries,
    text_lines,
)
from shoal.urls import Params, credentials_of, origin_of

SHOWN = "the body"


class ArrayInputs:
    """The inputs of an array, read again at each iteration."""

    def __init__(self, urls: Sequence[str], spec: JobSpec) -> None:
        self._urls, self._spec = urls, spec

    def __iter__(self) -> Iterator[Input]:
        placed = enumerate(map(bare, self._urls), 1)
        entries = (Entry(place, url, None if url else "malformed") for place, url in placed)
        return read_inputs(entries, self._spec)


def line_entries(stream: BinaryIO, column: str | None) -> Iterator[Entry]:
    """Plain lines, or CSV if a column is named. Raises UsageError if the stream is something else."""
    return stream_entries(stream, column, SHOWN)


def json_line_entries(stream: BinaryIO) -> Iterator[Entry]:
    """JSON lines: each a string, or an object with a `url`."""
    return json_entries(text_lines(stream, SHOWN), "url")


def read_inputs(entries: Iterable[Entry], spec: JobSpec) -> Iterator[Input]:
    """Their lines are positions in the stream; duplicates are not marked yet."""
    params = Params.of(spec)
    for line, text, problem, columns in entries:
        if not text and not problem:
            continue
        try:
            if problem:
                raise InvalidURL(text, problem)
            wanted = _target(text, params, spec)
        except InvalidURL as error:
            spelt = spelt_safely(text, ANYTHING_WITH_AT)
            yield Input(line, spelt, None, error.reason, columns=safe_columns(columns, text, spelt))
        else:
            yield Input(line, spelt_safely(text, AUTHORITY_WITH_USER), wanted, columns=columns)


def _target(text: str, params: Params, spec: JobSpec) -> Target:
    url, wanted = input_target(text, params, spec.politeness.group)
    if "@" in url and (credentials := credentials_of(url)):
        known = spec.credentials.get(origin_of(wanted.url))
        if credentials != known:
            raise InvalidURL(url, "other_credentials" if known else "new_credentials")
    return wanted
