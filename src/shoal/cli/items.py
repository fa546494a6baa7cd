"""`shoal items`: what a job extracted, and what it found but could not take."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click

from shoal.cli.numbers import Whole
from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe, shortened, table
from shoal.store.jobs import Job

ROWS_SHOWN = 100
REJECTS_SHOWN = 5
"""Of those rejected for the same reason, unless a limit says otherwise."""
CELL_WIDTH = 24
DATA_WIDTH = 200

Cause = tuple[str, str]
"""Type and reason, without the value it names: rejects with the same are shown together."""

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
@click.option("--rejected", is_flag=True, help="What failed validation, grouped by reason, N of each.")
@click.option("--provenance", is_flag=True, help="With --json: also _url, _page and _type of each item.")
def items(session: Session, job: str, type: str | None, limit: int | None, rejected: bool, provenance: bool) -> None:
    """List the items of JOB (an id, the beginning of one, or "last"), in the order of the crawl.

    \b
    shoal items last
    shoal items last --type Book --json | jq -r .title
    shoal items last --rejected
    """
    where = {} if type is None else {"type": type}
    with session.open_jobs() as reached:
        found = reached.find(job)
        if rejected:
            _list_rejects(session, found.rejects(where), limit)
        elif session.json:
            for row in islice(found.items(where, provenance=provenance), limit):
                session.data(row)
        else:
            shown = _show_items(session, found.items(where, provenance=True), limit or ROWS_SHOWN)
            if not shown:
                _say_there_are_none(session, found.job)


def _say_there_are_none(session: Session, job: Job) -> None:
    if job.gives_items:
        session.say("there are no such items; with --rejected: what failed validation")
    else:
        session.say(f"job {job.id} has no spider that gives items; its pages: {session.command('pages', job.id)}")


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
    """As many fields as fit side by side; the others are named."""
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


def _list_rejects(session: Session, rows: Iterable[Mapping[str, Any]], limit: int | None) -> None:
    if session.json:
        for row in islice(rows, limit):
            session.data(row)
        return
    counts, samples = _by_cause(rows, limit or REJECTS_SHOWN)
    for cause, n in counts.most_common():
        for line in _reject_lines(cause, n, samples[cause]):
            session.show(line)
    if not counts:
        session.say("nothing was rejected")


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


def _reject_lines(cause: Cause, n: int, rejects: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    type, reason = cause
    yield f"{safe(type)}: {safe(reason)}: {n:,} rejected"
    for reject in rejects:
        yield f"  {safe(reject['url'])}"
        if reject["reason"] != reason:
            yield f"    {safe(reject['reason'])}"
        yield f"    {shortened(_text(reject['data']), DATA_WIDTH)}"
    if n > len(rejects):
        yield f"  and {n - len(rejects):,} more: --json lists all"
