"""Hands a job to a fleet behind an API: its list is read whole here, then sent, whatever its length.

Every line keeps its number. What is no URL is told of here and not sent.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from tempfile import TemporaryFile
from typing import IO, Any

from shoal.cli.asked import BAD_LINES_SHOWN, SPELT_SHOWN, report_bad_lines
from shoal.cli.order import Order, read_order, url_of
from shoal.cli.reach import HandedOver
from shoal.cli.reach.orders import job_order
from shoal.cli.session import Session, safe, shortened
from shoal.client import BATCH, Appended, Client, Rejected, Submitted
from shoal.errors import ApiError, Unavailable
from shoal.spiders.lists import reason_words
from shoal.spiders.sources import Sources

_BLOCK = 1 << 16


def hand_over(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, options: dict[str, Any]
) -> HandedOver:
    order = read_order(source, column, options)
    with session.open_client() as client, TemporaryFile() as lines:
        if order.sources is not None:
            _write(order.sources, lines)
            report_bad_lines(session, order.sources, strict)
        return _sent(session, client, order, lines)


def _write(sources: Sources, out: IO[bytes]) -> None:
    """Each URL in the line that it had, and nothing in the others."""
    at = 1
    for one in sources.inputs:
        if one.target is not None:
            out.write(b"\n" * (one.line - at) + url_of(one, sources).encode())
            at = one.line
    out.seek(0)


def _sent(session: Session, client: Client, order: Order, lines: IO[bytes]) -> HandedOver:
    first = _first(lines)
    made = client.submit(first, **job_order(order.rules, order.spider, _named(order)))
    answers: list[Submitted | Appended] = [made]
    if more := lines.readline():
        answers.append(_append(client, made["id"], more, lines, len(first)))
    for told in answers:
        _tell_refused(session, told["rejected"])
    return HandedOver(
        made["id"],
        made["name"],
        sum(told["accepted"] for told in answers),
        sum(told["duplicates"] for told in answers),
        sum(told["rejected_count"] for told in answers) + (order.sources.bad_count if order.sources else 0),
        order.listed,
    )


def _named(order: Order) -> dict[str, Any]:
    """A list gives its name to the job, unless the spider does."""
    if order.sources is None or order.rules or order.spider:
        return order.options
    return {"name": order.sources.name, **order.options}


def _first(lines: IO[bytes]) -> list[str | None]:
    """As many as one call takes well, and at least one URL."""
    first: list[str | None] = []
    while (not first or first[-1] is None or len(first) < BATCH) and (line := lines.readline()):
        first.append(line.decode().strip() or None)
    return first


def _append(client: Client, job: str, line: bytes, lines: IO[bytes], sent: int) -> Appended:
    blocks = chain([line], iter(partial(lines.read, _BLOCK), b""))
    try:
        return client.append_lines(job, blocks)
    except (ApiError, Unavailable) as error:
        raise Unavailable(f"job {job} has the first {sent:,} lines and perhaps more, but not all: {error}") from error


def _tell_refused(session: Session, refused: list[Rejected]) -> None:
    """What passed here and not there, such as a password that the job was not begun with."""
    for bad in refused[:BAD_LINES_SHOWN]:
        session.say(f"{shortened(safe(bad['url']), SPELT_SHOWN)!r}: {reason_words(bad['reason'])}")
