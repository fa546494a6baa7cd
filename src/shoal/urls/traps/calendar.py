"""Dates in a URL that no content can have: years after the job, or before there were web sites.

A calendar links to the next month for ever, so it is enough to stop it in the years around now. Numbers that would be
other years count as ids. A number that could be either counts as a date only next to a calendar word.
"""

from __future__ import annotations

import re
from datetime import datetime

from shoal.urls.traps.url_growth import split_query

YEARS_AHEAD = 2
FIRST_YEAR = 1970

_YEAR = r"(?P<year>(?:19|20)\d\d)"
_IN_PATH = re.compile(
    rf"/{_YEAR}(?P<apart>[/-]?)(?P<month>0?[1-9]|1[0-2])(?:(?P=apart)(?P<day>0?[1-9]|[12]\d|3[01]))?(?=[/.]|$)"
)
_WORD = re.compile(r"^/\d{4}/|calend|kalend|event|month|agenda|archive|schedule", re.IGNORECASE)
"""A path that begins with a year needs no other word."""
_IN_VALUE = re.compile(rf"{_YEAR}(?:-|%2F)?(?P<month>0[1-9]|1[0-2])(?:(?:-|%2F)?(?:0[1-9]|[12]\d|3[01]))?(?:[T+%].*)?")
_WHOLE_YEAR = re.compile(r"(?:19|20)\d\d")
_WHOLE_MONTH = re.compile(r"0?[1-9]|1[0-2]")

_DATES = frozenset(
    (
        *("date", "day", "month", "week", "ym", "yearmonth", "year_month", "m", "dt", "cal", "calendar"),
        *("caldate", "cal_date", "eventdate", "event_date", "event-date", "tribe-bar-date"),
    )
)
"""Parameters that hold a date. Not from, to, since and until: ranges are often left open as 1900 and 2099."""
_YEARS = frozenset(("year", "yr", "y", "yyyy", "calyear", "cal_year", "caly"))
_MONTHS = frozenset(("month", "mon", "mo", "m", "mm", "calmonth", "cal_month", "calm"))


class Calendar:
    def __init__(self, now: datetime) -> None:
        self._last = (now.year + YEARS_AHEAD, now.month)

    def date_out_of_reach(self, url: str) -> str | None:
        path, _, query = url[url.index("/", len("https://")) :].partition("?")
        return self._in_path(path) or (self._in_query(query) if query else None)

    def _in_path(self, path: str) -> str | None:
        for date in _IN_PATH.finditer(path):
            # Archives have articles of any age below their dates. An empty calendar page ends with its date.
            ends_path = "/" not in path[date.end() :].rstrip("/")
            why = self._out_of_reach(date["year"], date["month"], back=ends_path)
            if why and _is_date(date, path):
                return why
        return None

    def _in_query(self, query: str) -> str | None:
        year = month = ""
        for param in split_query(query):
            name, _, value = param.partition("=")
            name = name.lower()
            if name in _DATES and (date := _IN_VALUE.fullmatch(value)):
                if why := self._out_of_reach(date["year"], date["month"]):
                    return why
            elif name in _YEARS and _WHOLE_YEAR.fullmatch(value):
                year = value
            elif name in _MONTHS and _WHOLE_MONTH.fullmatch(value):
                month = value
        return self._out_of_reach(year, month) if year and month else None

    def _out_of_reach(self, year: str, month: str, back: bool = True) -> str | None:
        there = int(year), int(month)
        if there > self._last:
            return f"{_spelt(there)} is after {_spelt(self._last)}, {YEARS_AHEAD} years after the job was created"
        if back and there[0] < FIRST_YEAR:
            return f"{_spelt(there)} is before {_spelt((FIRST_YEAR, 1))}"
        return None


def _is_date(found: re.Match[str], path: str) -> bool:
    _, apart, month, day = found.groups()
    if apart and len(month) == 2 and (apart == "-" or day or month.startswith("0")):
        return True
    # 2031/5 or 2031/10 may be a page of topic 2031, and 203105 may as well be an id.
    return bool((apart or len(month) == len(day or "01") == 2) and _WORD.search(path))


def _spelt(month: tuple[int, int]) -> str:
    return f"{month[0]}-{month[1]:02d}"
