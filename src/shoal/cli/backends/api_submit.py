"""Submits a job to a fleet behind an API, after its sources were read and validated here.

A list of any length is sent unchanged, so that every line keeps its number, and bad lines are recorded too. A list with
passwords is sent with the job in a single call, without its bad lines: the API accepts passwords only there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast

from shoal.cli.backends import SubmittedJob
from shoal.cli.job_request import report_bad_lines
from shoal.cli.remote_job_request import RemoteJobRequest, read_remote_request, url_of
from shoal.cli.scrapy_flags import ScrapyFlags
from shoal.cli.session import Session
from shoal.client import Appended, Client, Submitted
from shoal.errors import ApiError, Unavailable, UsageError
from shoal.spiders.input_sources import Sources

_BLOCK = 1 << 16
_BROKEN_OFF = (400, 408)
"""Status codes for an incomplete body; the API keeps the part that arrived."""


def submit_job(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, options: dict[str, Any]
) -> SubmittedJob:
    with session.open_client() as client, TemporaryDirectory() as folder:
        copies = _Copies(Path(folder))
        order = read_remote_request(session, source, column, options, copies.copying)
        if order.sources is not None:
            copies.write_good(order.sources)
            report_bad_lines(session, order.sources, strict)
        answers = list(_sent(client, order, copies, column))
    made = cast(Submitted, answers[0])
    return SubmittedJob(
        made["id"],
        made["name"],
        sum(answer["accepted"] for answer in answers),
        sum(answer["duplicates"] for answer in answers),
        sum(answer["rejected_count"] for answer in answers),
        order.listed,
    )


def submit_scrapy(session: Session, flags: ScrapyFlags) -> str:
    """Returns the id of the job."""
    with session.open_client() as client:
        return client.submit(**flags.fields())["id"]


class _Copies:
    """Copies of every list while it is read, since stdin can be read only once; and all good URLs, each on its line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lists: list[Path] = []
        self.good = folder / "good"

    def copying(self, stream: BinaryIO) -> BinaryIO:
        self.lists.append(self._folder / str(len(self.lists)))
        self.lists[-1].touch()
        return cast(BinaryIO, io.BufferedReader(_Copying(stream, self.lists[-1]), _BLOCK))

    def write_good(self, sources: Sources) -> None:
        """Reads the sources to their end."""
        at = 1
        with self.good.open("wb") as out:
            for one in sources.inputs:
                if one.target is not None:
                    out.write(b"\n" * (one.line - at) + url_of(one, sources).encode())
                    at = one.line


class _Copying(io.RawIOBase):
    def __init__(self, stream: BinaryIO, copy: Path) -> None:
        self._stream, self._copy = stream, copy

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        some = self._stream.read(len(buffer))
        with self._copy.open("ab") as copy:
            copy.write(some)
        buffer[: len(some)] = some
        return len(some)


def _sent(
    client: Client, order: RemoteJobRequest, copies: _Copies, column: str | None
) -> Iterator[Submitted | Appended]:
    """What is answered to each call, the first of which makes the job."""
    sources = order.sources
    # A list gives the job its name, unless a spider or rules do.
    named = {} if sources is None or order.rules or order.spider else {"name": sources.name}
    fields = order.fields(**named)
    if sources is None or not sources.listed:
        yield client.submit(order.words, **fields)
        return
    if sources.credentials:
        # Only an admin may append URLs to a job with passwords, so all URLs go in this call.
        with copies.good.open("rb") as lines:
            yield client.submit([line.decode().strip() or None for line in lines], **fields)
        return
    made = client.submit(urls_follow=True, **fields)
    yield made
    lists = iter(copies.lists)
    for word, is_list in zip(order.words, sources.are_lists, strict=True):
        yield _appended(client, made["id"], next(lists) if is_list else word, column)


def _appended(client: Client, job: str, part: str | Path, column: str | None) -> Appended:
    try:
        if isinstance(part, str):
            return client.append(job, [part])
        with part.open("rb") as lines:
            return client.append_lines(job, lines, column=column)
    except (ApiError, Unavailable) as error:
        if error.exit_code == Unavailable.exit_code or (isinstance(error, ApiError) and error.status in _BROKEN_OFF):
            raise Unavailable(
                f"job {job} has started, but not all of its URLs arrived: {error}; "
                f"send the others to {client.url}/api/v1/jobs/{job}/urls"
            ) from error
        with suppress(ApiError, Unavailable):
            client.cancel(job)
        raise UsageError(f"{error}; job {job} is cancelled, because its list could not be sent") from error
