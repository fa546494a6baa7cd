"""Reads the arguments of a call: those of its URL and of its form, as scrapyd mixes them, and a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from tempfile import TemporaryFile
from threading import BoundedSemaphore
from typing import IO, cast
from urllib.parse import unquote_to_bytes

from flask import request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from shoal.control.problems import RETRY_S, Problem
from shoal.control.request_bodies import PIECE, check_whole, received
from shoal.control.request_deadline import KEY, Deadline
from shoal.control.thread_slots import slot
from shoal.errors import UsageError

FORM_BYTES = 1 << 20
FIELDS = 1_000
AT_ONCE = 2
"""Uploads in a process: each is in memory whole, and has a process of its own."""
_uploads = BoundedSemaphore(AT_ONCE)
_BYTES_AS_TEXT = "surrogateescape"
"""A value of a form may be a file, whose bytes are no text."""


class Arguments:
    def __init__(self, values: dict[str, list[str]], files: dict[str, IO[bytes]]) -> None:
        self._values = values
        self._files = files

    def required(self, name: str) -> str:
        """Raises UsageError."""
        if (value := self.optional(name)) is None:
            raise UsageError(f"'{name}' parameter is required")
        return value

    def optional(self, name: str) -> str | None:
        """The first value, as scrapyd takes it. Raises UsageError."""
        values = self._values.pop(name, None)
        return None if values is None else _text(name, values[0])

    def all(self, name: str) -> list[str]:
        """Raises UsageError."""
        return [_text(name, value) for value in self._values.pop(name, [])]

    def number(self, name: str) -> float:
        """0 if it is not given. Raises UsageError."""
        text = self.optional(name)
        try:
            number = 0.0 if text is None else float(text)
        except ValueError as error:
            raise UsageError(f"{name} is invalid: {error}") from None
        if number != number or abs(number) == float("inf"):
            raise UsageError(f"{name} is invalid: {text} orders nothing")
        return number

    def file(self, name: str) -> IO[bytes]:
        """A file, or a value with its bytes, as ScrapydWeb sends it. Raises UsageError."""
        if name in self._files:
            return self._files[name]
        if name not in self._values:
            raise UsageError(f"'{name}' parameter is required")
        return BytesIO(self._values.pop(name)[0].encode("utf-8", _BYTES_AS_TEXT))

    def others(self) -> dict[str, str]:
        """What is left, with the first value of each. Raises UsageError."""
        return {_text("the name of an argument", name): _text(name, all[0]) for name, all in self._values.items()}


def _text(name: str, value: str) -> str:
    if "\0" in value or any("\ud800" <= char <= "\udfff" for char in value):
        raise UsageError(f"{name} is invalid: it is not text in UTF-8, or contains a NUL")
    return value


@contextmanager
def received_arguments(most_bytes: int) -> Iterator[Arguments]:
    """`most_bytes` of a form; with files it is an upload. The files are there until the end of the block. Raises
    UsageError or a Problem."""
    given = request.args.to_dict(flat=False)
    if request.method != "POST":
        yield Arguments(given, {})
        return
    with _upload(most_bytes > FORM_BYTES), TemporaryFile() as body:
        _receive(body, most_bytes)
        values, files = _parsed(body)
        for name, more in values.items():
            given.setdefault(name, []).extend(more)
        try:
            yield Arguments(given, files)
        finally:
            for file in files.values():
                file.close()


@contextmanager
def _upload(is_one: bool) -> Iterator[None]:
    if is_one and not _uploads.acquire(blocking=False):
        raise Problem(503, "too many uploads at the moment: try again later", headers={"Retry-After": str(RETRY_S)})
    try:
        yield
    finally:
        if is_one:
            _uploads.release()


def _receive(body: IO[bytes], most_bytes: int) -> None:
    request.max_content_length = most_bytes
    deadline = cast(Deadline | None, request.environ.get(KEY))
    try:
        with slot() as may_drip:
            if deadline is not None:
                deadline.expect_body(request.content_length or 0, may_drip)
            while piece := received(request.stream.read, PIECE):
                body.write(piece)
            if deadline is not None:
                deadline.expect_nothing()
        check_whole(body.tell())
        if body.tell() >= most_bytes:
            # A body without Content-Length is cut off there.
            raise RequestEntityTooLarge()
    except RequestEntityTooLarge:
        raise Problem(413, f"the body is larger than {most_bytes >> 20} MB") from None


def _parsed(body: IO[bytes]) -> tuple[dict[str, list[str]], dict[str, IO[bytes]]]:
    length = body.tell()
    body.seek(0)
    if request.mimetype != "multipart/form-data":
        return _form(body.read()), {}
    parser = FormDataParser(max_form_memory_size=FORM_BYTES, max_form_parts=FIELDS, silent=False)
    try:
        _, form, files = parser.parse(body, request.mimetype, length, dict(request.mimetype_params))
    except ValueError as error:
        raise UsageError(f"the form cannot be read: {error}") from None
    # A part may have no name.
    return {name or "": list(all) for name, all in form.lists()}, {name: file.stream for name, file in files.items()}


def _form(body: bytes) -> dict[str, list[str]]:
    """By hand, because a value may have any bytes."""
    fields = body.split(b"&") if body else []
    if len(fields) > FIELDS:
        raise UsageError(f"the form has more than {FIELDS:,} fields")
    values: dict[str, list[str]] = {}
    for field in fields:
        name, _, value = (_unquoted(part) for part in field.partition(b"="))
        values.setdefault(name, []).append(value)
    return values


def _unquoted(part: bytes) -> str:
    return unquote_to_bytes(part.replace(b"+", b" ")).decode("utf-8", _BYTES_AS_TEXT)
