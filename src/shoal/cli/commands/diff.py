"""`shoal diff`: compares the pages and items of two jobs."""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from shoal.cli.humanize import count
from shoal.cli.session import Command, Session
from shoal.cli.terminal_text import safe, shortened
from shoal.model.content_change import MARKUP
from shoal.store.results.job_diff import ADDED, CHANGED, GONE, Difference, ItemDifference, PageDifference

SHOWN = 20
"""Pages or items shown per kind of change."""
_CHANGES = (ADDED, GONE, CHANGED)
_KINDS = {"pages": PageDifference, "items": ItemDifference}


@click.command(cls=Command)
@click.argument("job")
@click.argument("job2")
def diff(session: Session, job: str, job2: str) -> None:
    """Compare two jobs: show which pages and items were added, are gone or have changed in JOB2.

    A page has changed if its digest differs; "markup only" means that its text is the same. An item with a key has
    changed if its data differs. Each job is an id, an id prefix, a name or "last".

    \b
    shoal diff nfjssz0n last
    shoal diff nfjssz0n last --json | jq -r 'select(.change == "gone").url'
    """
    with session.open_jobs() as backend:
        found = backend.find(job).differences(job2)
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
            yield from (shortened(f"  {change:<7}  {_text(one)}", width) for one in samples[kind, change])
            if counts[kind, change] > SHOWN:
                yield f"  and {counts[kind, change] - SHOWN:,} more {change}: --json lists all"


def _text(one: Difference) -> str:
    if isinstance(one, PageDifference):
        status_changed = one.status_before is not None and {one.status, one.status_before} - {200, 304}
        note = f" ({one.status_before} -> {one.status})" if status_changed else ""
        return safe(f"{one.url}{note or (' (markup only)' if one.change_kind == MARKUP else '')}")
    named = one.type if one.key is None else f"{one.type} {one.key}"
    if one.data_before is None:
        return safe(f"{named}: {json.dumps(one.data, ensure_ascii=False)}")
    return safe(f"{named}: {', '.join(_changes(one.data_before, one.data))}")


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in {**before, **now}:
        was, is_now = (json.dumps(side.get(name), ensure_ascii=False) for side in (before, now))
        if was != is_now:
            yield f"{name} {was} -> {is_now}"
