"""`shoal items`: lists the items that a job extracted, and those that failed validation."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from shoal.cli.humanize import plural
from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, shortened, table
from shoal.errors import UsageError
from shoal.store.jobs import Job

ROWS_SHOWN = 100
REJECTS_SHOWN = 5
"""Rejects shown per reason, unless --limit is given."""
CELL_WIDTH = 24
DATA_WIDTH = 200

Cause = tuple[str, str]
"""Type and reason without the value: the key by which rejects are grouped."""

_VALUE_NAMED = re.compile(r"""('.*?'|".*?") is no """)


@click.command(cls=Command)
@click.argument("job")
@click.option("--type", metavar="T", help="Only items of this type.")
@click.option(
    "--limit",
    type=Whole(),
    metavar="N",
    help=f"At most N items. Default: {ROWS_SHOWN}; with --json all.",
)
@click.option(
    "--rejected", is_flag=True, help="List the items that failed validation, by reason. --limit counts for each reason."
)
@click.option("--refused", is_flag=True, help="List the items that a sink refused, by its reason.")
@click.option("--retry", is_flag=True, help="With --refused: deliver these items again, after you fixed the cause.")
@click.option("--provenance", is_flag=True, help="With --json: add _url, _page and _type to each item.")
def items(
    session: Session,
    job: str,
    type: str | None,
    limit: int | None,
    rejected: bool,
    refused: bool,
    retry: bool,
    provenance: bool,
) -> None:
    """List the items that JOB (id, id prefix, name or "last") extracted, in crawl order.

    \b
    shoal items last
    shoal items last --type Book --json | jq -r .title
    shoal items last --rejected
    shoal items last --refused --retry
    """
    if retry and not refused:
        raise UsageError("--retry is for items that a sink refused: give --refused too")
    where = {} if type is None else {"type": type}
    with session.open_jobs() as backend:
        found = backend.find(job)
        if retry:
            session.say(f"{plural(found.redeliver(), 'refused item')} queued for another delivery")
        if refused:
            _list_rejects(session, found.refused(where), limit, "refused")
        elif rejected:
            _list_rejects(session, found.rejects(where), limit, "rejected")
        elif session.json:
            for row in islice(found.items(where, provenance=provenance), limit):
                session.data(row)
        else:
            shown = _show_items(session, found.items(where, provenance=True), limit or ROWS_SHOWN)
            if not shown:
                _say_there_are_none(session, found.job)


def _say_there_are_none(session: Session, job: Job) -> None:
    if job.gives_items:
        rejected = session.command("items", job.id, "--rejected")
        session.say(f"no items to show. To see the items that failed validation: {rejected}")
    else:
        session.say(f"job {job.id} has no spider or rules, so no items; its pages: {session.command('pages', job.id)}")


def _show_items(session: Session, rows: Iterable[dict[str, Any]], limit: int) -> int:
    found = list(islice(rows, limit + 1))
    by_type: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in found[:limit]:
        by_type[item["_type"]].append(item)
    width = shutil.get_terminal_size().columns
    for name, of_type in by_type.items():
        if len(by_type) > 1:
            session.show(f"{safe(name)}:")
        for line in _item_lines(of_type, width):
            session.show(line)
    if len(found) > limit:
        session.say(f"these are the first {limit:,}: --limit shows more, --json all")
    return len(found)


def _item_lines(found: Sequence[Mapping[str, Any]], width: int) -> list[str]:
    """Shows as many fields as fit side by side, and names the others."""
    names = [name for name in dict.fromkeys(name for item in found for name in item) if not name.startswith("_")]
    columns = {name: [_cell(item.get(name)) for item in found] for name in names}
    fitting: list[str] = []
    taken = 0
    for name in names:
        taken += min(CELL_WIDTH, max(map(len, [safe(name), *columns[name]]))) + 2
        if fitting and taken - 2 > width:
            break
        fitting.append(name)
    header = [safe(name) for name in fitting]
    rows = zip(*(columns[name] for name in fitting), strict=True)
    lines = table(rows, header, width, right=frozenset())
    left_out = [safe(name) for name in names if name not in fitting]
    return [*lines, shortened(f"also: {', '.join(left_out)} (--json has them)", width)] if left_out else lines


def _cell(value: Any) -> str:
    return shortened(_text(value), CELL_WIDTH)


def _text(value: Any) -> str:
    if value is None:
        return "–"
    return safe(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _list_rejects(session: Session, rows: Iterable[Mapping[str, Any]], limit: int | None, how: str) -> None:
    if session.json:
        for row in islice(rows, limit):
            session.data(row)
        return
    counts, samples = _by_cause(rows, limit or REJECTS_SHOWN)
    for cause, n in counts.most_common():
        for line in _reject_lines(cause, n, samples[cause], how):
            session.show(line)
    if not counts:
        session.say(f"nothing was {how}")


def _by_cause(
    rows: Iterable[Mapping[str, Any]], shown: int
) -> tuple[Counter[Cause], Mapping[Cause, list[Mapping[str, Any]]]]:
    counts: Counter[Cause] = Counter()
    samples: defaultdict[Cause, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        cause = row["type"], _VALUE_NAMED.sub("it is no ", row["reason"])
        counts[cause] += 1
        if counts[cause] <= shown:
            samples[cause].append(row)
    return counts, samples


def _reject_lines(cause: Cause, n: int, rejects: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    type, reason = cause
    yield f"{safe(type)}: {safe(reason)}: {n:,} {how}"
    for reject in rejects:
        yield f"  {safe(reject['url'] or '')}"
        if reject["reason"] != reason:
            yield f"    {safe(reject['reason'])}"
        yield f"    {shortened(_text(reject['data']), DATA_WIDTH)}"
    if n > len(rejects):
        yield f"  and {n - len(rejects):,} more: --json lists all"
