"""Dates as sites write them: ISO 8601, RFC 2822, "15 Nov 2026", "Nov 15, 2026", "15.11.2026", "2026/11/15".

Months are English. With slashes ("11/15/2026") day and month must tell themselves apart, by one of them being above
12 or both the same; a dotted date has its day first. A zone is kept if the text has one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from datetime import time as clock

MAX_CHARS = 100
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name[:length]: number for number, name in enumerate(_MONTH_NAMES.split(), 1) for length in (3, 4, len(name))}
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = r"(?P<month>[a-z]{3,9})\.?"
_YEAR = r"(?P<year>\d{4})"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+)?"
_DATES = [
    re.compile(pattern)
    for pattern in (
        r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?!\d)",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?!\d)",
        r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})(?!\d)",
        r"(?P<one>\d{1,2})(?P<sign>[/-])(?P<two>\d{1,2})(?P=sign)(?P<year>\d{4})(?!\d)",
        rf"{_WEEKDAY}{_DAY}(?:\s+of)?[\s.-]+{_MONTH},?[\s-]+{_YEAR}(?!\d)",
        rf"{_WEEKDAY}{_MONTH}\s+{_DAY},?\s+{_YEAR}(?!\d)",
    )
]
_TIME = re.compile(
    r"(?:t|,?\s+(?:at\s+)?)(?P<hour>\d{1,2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<half>[ap])?\.?(?(half)m\.?)\s*"
    r"(?P<zone>z|utc|gmt|[+-]\d{2}:?(?:\d{2})?)?(?:\s*\([a-z ]+\))?"
)


def date_in(text: str) -> date:
    """Raises ValueError with the reason. A time after the date, and its zone, are ignored."""
    if _ISO.fullmatch(text):
        return date.fromisoformat(text)
    return _read(text)[0]


def iso_dates(texts: Sequence[str]) -> list[date]:
    """Raises ValueError unless all are ISO 8601 dates."""
    if not all(map(_ISO.fullmatch, texts)):
        raise ValueError("not all of them are written YYYY-MM-DD")
    return list(map(date.fromisoformat, texts))


def datetime_in(text: str) -> datetime:
    """Raises ValueError with the reason. A missing time means midnight. Without a zone, the result has none."""
    day, rest = _read(text)
    return datetime.combine(day, rest or clock())


def _read(text: str) -> tuple[date, clock | None]:
    if len(text) > MAX_CHARS:
        raise ValueError("it is too long for a date")
    flat = " ".join(text.lower().split())
    for pattern in _DATES:
        if found := pattern.match(flat):
            return _date_of(found.groupdict()), _time_of(flat[found.end() :])
    raise ValueError("it is not written like any date that is known")


def _date_of(parts: dict[str, str]) -> date:
    if "one" in parts:
        one, two = int(parts["one"]), int(parts["two"])
        if one <= 12 and two <= 12 and one != two:
            raise ValueError("day and month cannot be told apart")
        day, month = (one, two) if one > 12 else (two, one)
    else:
        day, month = int(parts["day"]), _month_of(parts["month"])
    return date(int(parts["year"]), month, day)


def _month_of(name: str) -> int:
    if name.isdecimal():
        return int(name)
    if name not in _MONTHS:
        raise ValueError(f"{name!r} is no month; English names are read")
    return _MONTHS[name]


def _time_of(rest: str) -> clock | None:
    if not rest.strip():
        return None
    found = _TIME.fullmatch(rest)
    if not found:
        raise ValueError(f"after the date comes {rest.strip()!r}, which is no time")
    hour = int(found["hour"])
    if found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(f"hour {hour} does not go with am or pm: 1 to 12 do")
        hour = hour % 12 + 12 * (found["half"] == "p")
    micro = int((found["fraction"] or "0")[:6].ljust(6, "0"))
    return clock(hour, int(found["minute"]), int(found["second"] or 0), micro, _zone_of(found["zone"]))


def _zone_of(name: str | None) -> timezone | None:
    if name is None:
        return None
    if name in ("z", "utc", "gmt"):
        return UTC
    minutes = int(name[1:3]) * 60 + int(name[3:].lstrip(":") or 0)
    return timezone(timedelta(minutes=-minutes if name[0] == "-" else minutes))
