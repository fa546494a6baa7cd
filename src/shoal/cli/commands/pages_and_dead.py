"""`shoal pages` lists the pages of a job; `shoal dead` lists the requests that it gave up on."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

import click

from shoal.cli.backends import JobHandle
from shoal.cli.humanize import plural, size
from shoal.cli.numbers import Whole
from shoal.cli.request_failures import page_limit, trend_words
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, table
from shoal.errors import UsageError
from shoal.jobs.failure_hints import hint
from shoal.store.failure_trend import SHORTEST_S, trend_of_counts
from shoal.store.jobs import Job
from shoal.store.results.listings import MERGED

ROWS_SHOWN = 100
LETTERS_SHOWN = 20
"""Dead letters shown per cause."""
_TITLE_SHARE = 0.25
_CANONICAL_SHARE = 0.4

Cause = tuple[str, int | None]
"""Reason and status: the key by which dead letters are grouped."""


@click.command(cls=Command)
@click.argument("job")
@click.option("--status", type=Whole(100, 599), metavar="S", help="Only pages with this status.")
@click.option("--host", metavar="H", help="Only pages of this host.")
@click.option("--merged", is_flag=True, help="The pages that --canonical merge counts as one with another.")
@click.option(
    "--limit",
    type=Whole(),
    metavar="N",
    help=f"At most N pages. Default: {ROWS_SHOWN}; with --json all.",
)
@click.option("--body", metavar="FINGERPRINT", help="Write the body of this page instead, from the archive.")
def pages(
    session: Session,
    job: str,
    status: int | None,
    host: str | None,
    merged: bool,
    limit: int | None,
    body: str | None,
) -> None:
    """List the pages that JOB (id, id prefix, name or "last") fetched, in crawl order.

    With --body, it writes the decompressed bytes of one page to stdout; --json lists the fingerprints.

    \b
    shoal pages last --status 404
    shoal pages last --host example.com --json | jq -r .url
    shoal pages last --body 4f1c0e92d7a86b35 > page.html
    """
    given = {"status": None if status is None else str(status), "host": host, MERGED: "true" if merged else None}
    where = {name: value for name, value in given.items() if value is not None}
    with session.open_jobs() as backend:
        found = backend.find(job)
        if body is not None:
            sys.stdout.buffer.write(found.body(body))
            return
        rows = found.pages(where)
        if session.json:
            for row in islice(rows, limit):
                session.data(row)
        else:
            _show_pages(session, rows, limit or ROWS_SHOWN, "canonical" if merged else "title")


def _show_pages(session: Session, rows: Iterable[Mapping[str, Any]], limit: int, beside: str) -> None:
    """`beside` is the column next to the URL. A page that names no canonical URL is its own."""
    found = list(islice(rows, limit + 1))
    if not found:
        session.say("no such pages")
        return
    width = shutil.get_terminal_size().columns
    share = int(width * (_TITLE_SHARE if beside == "title" else _CANONICAL_SHARE))
    cells = [
        _page_cells(row, safe(row[beside] or (row["url"] if beside == "canonical" else "")), share)
        for row in found[:limit]
    ]
    for line in table(cells, ("status", "depth", "size", beside, "url"), width, right=frozenset({0, 1, 2})):
        session.show(line)
    if len(found) > limit:
        session.say(f"these are the first {limit:,}: --limit shows more, --json all")


def _page_cells(row: Mapping[str, Any], beside: str, width: int) -> tuple[str, ...]:
    shown = beside if len(beside) <= width else beside[: width - 1] + "…"
    return str(row["status"]), str(row["depth"]), size(row["bytes"]), shown, safe(row["url"])


@click.command(cls=Command)
@click.argument("job")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only those with this reason, status or host.")
@click.option("--retry", is_flag=True, help="Queue them again; the job fetches them when it is resumed.")
def dead(session: Session, job: str, where: tuple[str, ...], retry: bool) -> None:
    """List the dead letters of JOB (id, id prefix, name or "last"), the requests that it gave up on; or retry them.

    \b
    shoal dead last
    shoal dead last --where status=503 --json
    shoal dead last --where host=example.com --retry && shoal resume last
    """
    wanted = _conditions(where)
    with session.open_jobs() as backend:
        found = backend.find(job)
        if retry:
            _retry(session, found, wanted)
        else:
            _list_dead(session, found.job, found.dead(wanted))


def _conditions(given: Iterable[str]) -> dict[str, str]:
    wanted: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--where {text!r}: give it as KEY=VALUE, such as status=503")
        if key in wanted:
            raise UsageError(f"--where {key}= is given twice: give it once")
        wanted[key] = value
    return wanted


def _list_dead(session: Session, job: Job, rows: Iterable[Mapping[str, Any]]) -> None:
    if session.json:
        for row in rows:
            session.data(row)
        return
    counts: Counter[Cause] = Counter()
    periods: defaultdict[Cause, Counter[int]] = defaultdict(Counter)
    last_at: dict[Cause, float] = {}
    samples: defaultdict[Cause, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cause = row["reason"], row["status"]
        counts[cause] += 1
        at = datetime.fromisoformat(row["died_at"]).timestamp()
        periods[cause][int(at) // SHORTEST_S] += 1
        last_at[cause] = max(at, last_at.get(cause, at))
        if counts[cause] <= LETTERS_SHOWN:
            samples[cause].append(row)
    retry = session.command("dead", job.id, "--retry")
    for cause, n in counts.most_common():
        advice = hint(*cause, retry, page_limit(job.spec.max_page_bytes))
        trend = trend_words(trend_of_counts(periods[cause], SHORTEST_S), last_at[cause], job.time_span(time.time()))
        for line in _dead_lines(cause, n, trend, samples[cause], advice):
            session.show(line)
    if not counts:
        session.say("no such dead letters")


def _dead_lines(
    cause: Cause, n: int, trend: str, letters: Iterable[Mapping[str, Any]], advice: str | None
) -> Iterator[str]:
    reason, status = cause
    name = reason if status is None else f"{reason} {status}"
    yield f"{name}: {plural(n, 'dead letter')}{trend}"
    if advice:
        yield f"  {advice}"
    for letter in letters:
        yield f"  {safe(letter['url'])}"
        yield f"    {plural(letter['attempts'], 'attempt')}: {safe(letter['detail'])}"
    if n > LETTERS_SHOWN:
        yield f"  and {n - LETTERS_SHOWN:,} more: --json lists all"


def _retry(session: Session, found: JobHandle, where: Mapping[str, str]) -> None:
    job, revived = found.job, found.retry(where)
    if session.json:
        session.data({"job": job.id, "retried": revived})
    elif revived:
        label, verb = ("follow it", "watch") if job.fleet else ("fetch them with", "resume")
        next_command = f"{label}: {session.command(verb, job.id)}"
        session.say(f"{plural(revived, 'request')} of job {job.id} queued again; {next_command}")
    else:
        session.say(f"job {job.id} has no such dead letters: nothing to retry")
