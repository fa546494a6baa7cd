"""The columns of what people read and export, in their order, and what kind of value each holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum


class Kind(StrEnum):
    TEXT = "text"
    INTEGER = "integer"
    TIME = "time"
    """ISO 8601, UTC, to the millisecond."""
    TEXTS = "texts"
    """A list of texts."""
    WHOLE = "whole"
    """An integer of any size."""
    NUMBER = "number"
    DECIMAL = "decimal"
    """Digits as text, exactly as they were found."""
    BOOLEAN = "boolean"
    DATE = "date"
    DATETIME = "datetime"
    """ISO 8601, with or without a zone."""
    LIST = "list"
    OBJECT = "object"


Columns = Mapping[str, Kind]

PAGE: Columns = {
    "url": Kind.TEXT,
    "final_url": Kind.TEXT,
    "status": Kind.INTEGER,
    "depth": Kind.INTEGER,
    "parent": Kind.TEXT,
    "content_type": Kind.TEXT,
    "bytes": Kind.INTEGER,
    "title": Kind.TEXT,
    "digest": Kind.TEXT,
    "fingerprint": Kind.TEXT,
    "attempts": Kind.INTEGER,
    "duration_ms": Kind.INTEGER,
    "fetched_at": Kind.TIME,
    "via": Kind.TEXT,
    "archive": Kind.TEXT,
    "changed": Kind.BOOLEAN,
    "tdm_reservation": Kind.TEXT,
    "tdm_policy": Kind.TEXT,
}

PAGE_WITH_CONTENT: Columns = {
    **PAGE,
    "description": Kind.TEXT,
    "language": Kind.TEXT,
    "text": Kind.TEXT,
    "links": Kind.TEXTS,
}

FORMATS: Columns = {
    "metadata": Kind.OBJECT,
    "main": Kind.TEXT,
    "markdown": Kind.TEXT,
    "tables": Kind.OBJECT,
}
"""What a page with content has besides, for a job that asked for it."""

DEAD: Columns = {
    "url": Kind.TEXT,
    "host": Kind.TEXT,
    "reason": Kind.TEXT,
    "status": Kind.INTEGER,
    "detail": Kind.TEXT,
    "depth": Kind.INTEGER,
    "parent": Kind.TEXT,
    "attempts": Kind.INTEGER,
    "died_at": Kind.TIME,
    "fingerprint": Kind.TEXT,
}

REJECT: Columns = {
    "type": Kind.TEXT,
    "reason": Kind.TEXT,
    "data": Kind.OBJECT,
    "url": Kind.TEXT,
    "page": Kind.TEXT,
}

INPUT: Columns = {
    "line": Kind.INTEGER,
    "url": Kind.TEXT,
    "final_url": Kind.TEXT,
    "status": Kind.INTEGER,
    "outcome": Kind.TEXT,
    "reason": Kind.TEXT,
    "duplicate_of": Kind.INTEGER,
}


LAST_MOMENT = 253_402_300_799.0
"""9999-12-31T23:59:59Z: a calendar has no later one."""


def page_columns(formats: Iterable[str]) -> Columns:
    return {**PAGE_WITH_CONTENT, **{name: FORMATS[name] for name in formats}}


def iso_time(at: float) -> str:
    # What lies beyond the calendar is shown as its end, and what is no number too: nobody must fail to see it.
    shown = max(0.0, at) if at <= LAST_MOMENT else LAST_MOMENT
    return datetime.fromtimestamp(shown, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
