"""URLs for a job that is there already, read as they arrive: nothing is held of those that went before.

Which of them are new only the store can tell. A line that is no URL is an input with a reason, as in a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from shoal.errors import InvalidURL
from shoal.model import Input, JobSpec, Target
from shoal.spiders.lists import ANYTHING_WITH_AT, Entry, bare, spelt_safely, stream_entries, text_lines
from shoal.spiders.sources import AUTHORITY_WITH_USER, absolute
from shoal.urls import Params, credentials_of, origin_of, target

SHOWN = "the body"
_HALF_PAIR = re.compile(r"[\ud800-\udfff]")


class ArrayInputs:
    """Those of an array, read anew whenever they are gone over."""

    def __init__(self, urls: Sequence[str], spec: JobSpec) -> None:
        self._urls, self._spec = urls, spec

    def __iter__(self) -> Iterator[Input]:
        entries = ((place, bare(url), None if bare(url) else "malformed") for place, url in enumerate(self._urls, 1))
        return read_inputs(entries, self._spec)


def line_entries(stream: BinaryIO, column: str | None) -> Iterator[Entry]:
    """Plain lines, or CSV if a column is named. Raises UsageError if that is not what comes."""
    return stream_entries(stream, column, SHOWN)


def json_entries(stream: BinaryIO) -> Iterator[Entry]:
    """Lines of JSON: each a string, or an object with a `url`."""
    for place, line in enumerate(text_lines(stream, SHOWN), 1):
        yield place, *_spelt(line.strip())


def _spelt(line: str) -> tuple[str, str | None]:
    try:
        said = json.loads(line) if line else ""
    except (ValueError, RecursionError):
        return line, "not_json"
    url = said.get("url") if isinstance(said, dict) else said
    # JSON can escape half of a surrogate pair, which is no text.
    return (bare(url), None) if isinstance(url, str) and not _HALF_PAIR.search(url) else (line, "not_json")


def read_inputs(entries: Iterable[Entry], spec: JobSpec) -> Iterator[Input]:
    """Their lines are places in what is read; none is a duplicate yet."""
    params = Params.of(spec)
    for line, text, problem in entries:
        if not text and not problem:
            continue
        try:
            if problem:
                raise InvalidURL(text, problem)
            wanted = _target(absolute(text), params, spec)
        except InvalidURL as error:
            yield Input(line, spelt_safely(text, ANYTHING_WITH_AT), None, error.reason)
        else:
            yield Input(line, spelt_safely(text, AUTHORITY_WITH_USER), wanted)


def _target(url: str, params: Params, spec: JobSpec) -> Target:
    wanted = target(url, params, spec.politeness.group)
    if "@" in url and (credentials := credentials_of(url)):
        known = spec.credentials.get(origin_of(wanted.url))
        if credentials != known:
            raise InvalidURL(url, "other_credentials" if known else "new_credentials")
    return wanted
