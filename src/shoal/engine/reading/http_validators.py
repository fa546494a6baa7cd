"""Validators (ETag and Last-Modified) for conditional requests: only well-formed ones, of limited length."""

from __future__ import annotations

import re
from calendar import timegm

MOST_CHARS = 1_000
_MOST_AHEAD_S = 86_400
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

# RFC 9110, and tags without quotes, which some servers send and recognise. A bare * would match any page.
_ENTITY_TAG = re.compile(r'(?:W/)?"[!#-~\x80-\xff]*+"|(?!\*\Z)[!#-+\--~]++')
_DATE = re.compile(
    rf"\w{{3}}, (\d\d?) ({'|'.join(_MONTHS)}) ([12]\d{{3}}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC|\+0000)", re.ASCII
)


def entity_tag(header: str) -> str | None:
    return header if len(header) <= MOST_CHARS and _ENTITY_TAG.fullmatch(header) else None


def modified_at(header: str, now: float) -> str | None:
    """None also for a date in the future, apart from clock differences: no change would be reported until then."""
    found = _DATE.fullmatch(header)
    if found is None:
        return None
    day, month, year, *time = found.groups()
    at = timegm((int(year), _MONTHS.index(month) + 1, int(day), *map(int, time)))
    return header if at <= now + _MOST_AHEAD_S else None
