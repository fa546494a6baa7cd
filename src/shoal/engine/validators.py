"""What an answer gives to ask by whether it changed: only what a server can make sense of, and of no length that
it may choose."""

from __future__ import annotations

import re
from calendar import timegm

MOST_CHARS = 1_000
_MOST_AHEAD_S = 86_400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# RFC 9110, and tags without their quotes, which some servers give and know again. A bare * would mean any page at all.
_ENTITY_TAG = re.compile(r'(?:W/)?"[!#-~\x80-\xff]*+"|(?!\*\Z)[!#-+\--~]++')
_DATE = re.compile(
    rf"\w{{3}}, (\d\d?) ({'|'.join(_MONTHS)}) ([12]\d{{3}}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC|\+0000)", re.ASCII
)


def entity_tag(said: str) -> str | None:
    return said if len(said) <= MOST_CHARS and _ENTITY_TAG.fullmatch(said) else None


def modified_at(said: str, now: float) -> str | None:
    """None for a date to come too, but for clocks that differ: until then, no change would be told."""
    found = _DATE.fullmatch(said)
    if found is None:
        return None
    day, month, year, *time = found.groups()
    at = timegm((int(year), _MONTHS.index(month) + 1, int(day), *map(int, time)))
    return said if at <= now + _MOST_AHEAD_S else None
