"""Shows the quality of a job's items: a small table for people, objects for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from shoal.cli.humanize import count, plural
from shoal.cli.terminal_text import safe, shortened, table
from shoal.store.results.field_stats import MOST_DISTINCT
from shoal.store.results.quality import FieldQuality, QualityChange, changes

HEADER = ("field", "null", "distinct", "min", "max", "change")
NUMBERS = frozenset({1, 2, 3, 4})
FIELD_WIDTH = 20
VALUE_WIDTH = 14

_UNITS = {"text": "char", "url": "char", "list": "entry"}


def quality_lines(now: Sequence[FieldQuality], before: Sequence[FieldQuality], width: int) -> list[str]:
    """A table per type, at most `width` wide; `before` is the quality of the last run, empty if there was none."""
    lines = []
    for type, of_type in groupby(changes(now, before), lambda change: change.now.type):
        fields = list(of_type)
        lines.append(f"{safe(type)}: {plural(fields[0].now.n, 'item')}{_items_change(fields)}")
        if fields[0].now.n:
            lines += [f"  {line}" for line in table(map(_cells, fields), HEADER, width - 2, NUMBERS)]
    return lines


def quality_records(now: Sequence[FieldQuality], before: Sequence[FieldQuality]) -> Iterator[dict[str, Any]]:
    for change in changes(now, before):
        found, last = change.now, change.before
        yield {
            "type": "quality",
            "item": found.type,
            "field": found.field,
            "kind": found.kind,
            "items": found.n,
            "null_share": round(found.null_share, 4),
            "distinct": found.distinct if found.distinct <= MOST_DISTINCT else _distinct(found),
            "min": found.least,
            "max": found.most,
            "items_before": last.n if last else None,
            "null_share_before": round(last.null_share, 4) if last else None,
        }


def _items_change(fields: list[QualityChange]) -> str:
    for change in fields:
        if change.before is not None and change.items is not None:
            if change.items == 0:
                return ", as many as in the last run"
            return f", {change.items:+.1%} against {count(change.before.n)} in the last run"
    return ""


def _cells(change: QualityChange) -> tuple[str, ...]:
    found = change.now
    return (
        shortened(safe(found.field), FIELD_WIDTH),
        f"{found.null_share:.1%}",
        _distinct(found),
        _size(found.kind, found.least),
        _size(found.kind, found.most),
        _null_change(change),
    )


def _distinct(found: FieldQuality) -> str:
    return count(found.distinct) if found.distinct <= MOST_DISTINCT else f"{count(MOST_DISTINCT)}+"


def _size(kind: str, value: str | None) -> str:
    if value is None:
        return "–"
    return shortened(plural(int(value), _UNITS[kind]) if kind in _UNITS else value, VALUE_WIDTH)


def _null_change(change: QualityChange) -> str:
    points = change.null_share
    if points is None:
        return "–"
    return f"null {points * 100:+.1f} points" if round(points, 3) else "none"
