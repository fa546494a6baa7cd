"""Hands a job to a fleet behind an API, once its sources have been read here and are known to be good for something.

A list is sent as it is, whatever its length, so that every line keeps its number and bad ones are kept too. One with
passwords in it goes with the job in a single call, without its bad lines: only so is a job given passwords.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast

from shoal.cli.asked import report_bad_lines
from shoal.cli.order import Order, read_order, url_of
from shoal.cli.reach import HandedOver
from shoal.cli.reach.job_fields import job_fields
from shoal.cli.session import Session
from shoal.client import Appended, Client, Submitted
from shoal.errors import ApiError, Unavailable, UsageError
from shoal.spiders.sources import Sources

_BLOCK = 1 << 16
_BROKEN_OFF = (400, 408)
"""Answers to a body that did not come whole; what had come is kept."""


def hand_over(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, options: dict[str, Any]
) -> HandedOver:
    with session.open_client() as client, TemporaryDirectory() as folder:
        copies = _Copies(Path(folder))
        order = read_order(source, column, options, copies.copying)
        if order.sources is not None:
            copies.write_good(order.sources)
            report_bad_lines(session, order.sources, strict)
        answers = list(_sent(client, order, copies, column))
    made = cast(Submitted, answers[0])
    return HandedOver(
        made["id"],
        made["name"],
        sum(told["accepted"] for told in answers),
        sum(told["duplicates"] for told in answers),
        sum(told["rejected_count"] for told in answers),
        order.listed,
    )


class _Copies:
    """Of every list as it was read, for it may come only once; and of all URLs that are good, each in its line."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.lists: list[Path] = []
        self.good = folder / "good"

    def copying(self, stream: BinaryIO) -> BinaryIO:
        self.lists.append(self._folder / str(len(self.lists)))
        self.lists[-1].touch()
        return cast(BinaryIO, io.BufferedReader(_Copying(stream, self.lists[-1]), _BLOCK))

    def write_good(self, sources: Sources) -> None:
        """Reads the sources."""
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


def _sent(client: Client, order: Order, copies: _Copies, column: str | None) -> Iterator[Submitted | Appended]:
    """What is answered to each call, the first of which makes the job."""
    fields = job_fields(order.rules, order.spider, _named(order))
    sources = order.sources
    if sources is None or not sources.listed:
        yield client.submit(order.words, **fields)
        return
    if sources.credentials:
        # More URLs for a job that has passwords need an admin: so none are left to be appended.
        with copies.good.open("rb") as lines:
            yield client.submit([line.decode().strip() or None for line in lines], **fields)
        return
    made = client.submit(urls_follow=True, **fields)
    yield made
    lists = iter(copies.lists)
    for word, is_list in zip(order.words, sources.are_lists, strict=True):
        yield _appended(client, made["id"], next(lists) if is_list else word, column)


def _named(order: Order) -> dict[str, Any]:
    """A list gives its name to the job, unless the spider does."""
    if order.sources is None or order.rules or order.spider:
        return order.options
    return {"name": order.sources.name, **order.options}


def _appended(client: Client, job: str, part: str | Path, column: str | None) -> Appended:
    try:
        if isinstance(part, str):
            return client.append(job, [part])
        with part.open("rb") as lines:
            return client.append_lines(job, lines, column=column)
    except (ApiError, Unavailable) as error:
        if error.exit_code == Unavailable.exit_code or (isinstance(error, ApiError) and error.status in _BROKEN_OFF):
            raise Unavailable(
                f"job {job} is begun, but not all of its URLs have come: {error}; "
                f"the others are for {client.url}/api/v1/jobs/{job}/urls"
            ) from error
        with suppress(ApiError, Unavailable):
            client.cancel(job)
        raise UsageError(f"{error}; job {job}, which was to have the list, is cancelled") from error
