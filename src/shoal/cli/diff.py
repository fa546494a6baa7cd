"""`shoal diff`: what one job found that another did not."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from shoal.cli.session import Command, Session
from shoal.cli.terminal import safe, shortened
from shoal.cli.words import count
from shoal.store.diff import ADDED, CHANGED, GONE, Difference, ItemDifference, PageDifference

SHOWN = 20
"""Of the pages or items that share a change."""
_CHANGES = (ADDED, GONE, CHANGED)
_KINDS = {"pages": PageDifference, "items": ItemDifference}


@click.command(cls=Command)
@click.argument("job")
@click.argument("job2")
def diff(session: Session, job: str, job2: str) -> None:
    """Say which pages and items JOB2 has more, less or otherwise than JOB.

    A page has changed if its digest has, an item with a key if its data has. Either job is an id, the beginning of one,
    or "last".

    \b
    shoal diff nfjssz0n last
    shoal diff nfjssz0n last --json | jq -r 'select(.change == "gone").url'
    """
    with session.open_jobs() as reached:
        found = reached.find(job).differences(job2)
        if session.json:
            for one in found:
                session.data(one.as_dict())
        else:
            for line in _lines(found, shutil.get_terminal_size().columns):
                session.show(line)


def _lines(found: Iterable[Difference], width: int) -> Iterator[str]:
    counts: Counter[tuple[type[Difference], str]] = Counter()
    samples: defaultdict[tuple[type[Difference], str], list[Difference]] = defaultdict(list)
    for one in found:
        group = type(one), one.change
        counts[group] += 1
        if counts[group] <= SHOWN:
            samples[group].append(one)
    for name, kind in _KINDS.items():
        yield f"{name}: " + ", ".join(f"{count(counts[kind, change])} {change}" for change in _CHANGES)
        for change in _CHANGES:
            yield from (shortened(f"  {change:<7}  {_told(one)}", width) for one in samples[kind, change])
            if counts[kind, change] > SHOWN:
                yield f"  and {counts[kind, change] - SHOWN:,} more {change}: --json lists all"


def _told(one: Difference) -> str:
    if isinstance(one, PageDifference):
        turned = one.status_before is not None and {one.status, one.status_before} - {200, 304}
        return safe(f"{one.url} ({one.status_before} -> {one.status})" if turned else one.url)
    named = one.type if one.key is None else f"{one.type} {one.key}"
    if one.data_before is None:
        return safe(f"{named}: {json.dumps(one.data, ensure_ascii=False)}")
    return safe(f"{named}: {', '.join(_changes(one.data_before, one.data))}")


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in {**before, **now}:
        was, is_now = (json.dumps(side.get(name), ensure_ascii=False) for side in (before, now))
        if was != is_now:
            yield f"{name} {was} -> {is_now}"
