"""Numbers, sizes and times for the pages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from shoal.jobs.reason_words import dropped_by, skipped_words
from shoal.model import fingerprint_hex
from shoal.store.results.field_stats import MOST_DISTINCT
from shoal.store.results.quality import FieldQuality
from shoal.wording import plural
from shoal.wording import size as size_of

SHOWN_CHARS = 300
_UNITS = {"text": "character", "url": "character", "list": "entry"}


def count(n: float | None) -> str:
    return "–" if n is None else f"{n:,.0f}"


def rate(per_s: float) -> str:
    """`12`, `3.5`, `0.25`: as many digits as tell one slow job from another."""
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.1f}" if per_s >= 1 or not per_s else f"{per_s:.2g}"


def size(n: float | None) -> str:
    return "–" if n is None else size_of(n)


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def share(part: float | None) -> str:
    return "–" if part is None else f"{100 * part:.1f} %"


def extreme(value: str | None, field: FieldQuality) -> str:
    """The least or most of a field: of texts and lists it is a length."""
    if value is None:
        return "–"
    return plural(int(value), _UNITS[field.kind]) if field.kind in _UNITS else cell(value)


def distinct(field: FieldQuality) -> str:
    return count(field.distinct) if field.distinct <= MOST_DISTINCT else f"over {count(MOST_DISTINCT)}"


def clock(at: float | str | None) -> str:
    """UTC, of seconds or of an ISO time; without the date if it is today's."""
    if at is None:
        return "–"
    then = datetime.fromisoformat(at).astimezone(UTC) if isinstance(at, str) else datetime.fromtimestamp(at, UTC)
    now = datetime.fromtimestamp(time.time(), UTC)
    return f"{then:%H:%M:%S}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M}"


def cell(value: Any) -> str:
    """A value of an item or an option, cut if it is long."""
    if value is None:
        return "–"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def code(text: str) -> Markup:
    """Text with its commands in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part) for place, part in enumerate(parts)
    )


FILTERS: dict[str, Callable[..., str]] = {
    "count": count,
    "rate": rate,
    "size": size,
    "duration": duration,
    "share": share,
    "clock": clock,
    "extreme": extreme,
    "distinct": distinct,
    "code": code,
    "cell": cell,
    "fingerprint": fingerprint_hex,
    "skipped": skipped_words,
    "dropped_by": dropped_by,
}
