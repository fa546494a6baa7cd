"""The columns of listings and exports, in order, with the kind of their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from enum import StrEnum

from shoal.model.field_type import FieldType


class Kind(StrEnum):
    TEXT = "text"
    INTEGER = "integer"
    TIME = "time"
    """ISO 8601, UTC, in milliseconds."""
    TEXTS = "texts"
    """A list of text."""
    BOOLEAN = "boolean"
    OBJECT = "object"


Columns = Mapping[str, Kind | FieldType]
"""A column of our own records has a kind; a field of an item has its declared type."""

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
    "canonical": Kind.TEXT,
    "noindex": Kind.BOOLEAN,
    "nofollow": Kind.BOOLEAN,
    "change_kind": Kind.TEXT,
    "is_asset": Kind.BOOLEAN,
    "session": Kind.TEXT,
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
    "page_markdown": Kind.TEXT,
    "tables": Kind.OBJECT,
}
"""Extra columns for a job that asked for formats."""

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

REFUSED: Columns = {**REJECT, "sink": Kind.INTEGER}

PROVENANCE: Columns = {
    "_url": Kind.TEXT,
    "_fetched_at": Kind.TIME,
    "_job": Kind.TEXT,
    "_spider_version": Kind.TEXT,
}
"""Where an item comes from; extra columns on request."""

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
"""9999-12-31T23:59:59Z: the calendar has no later second."""


def page_columns(formats: Iterable[str]) -> Columns:
    return {**PAGE_WITH_CONTENT, **{name: FORMATS[name] for name in formats}}


def iso_time(at: float) -> str:
    # A time beyond the calendar, or NaN, is shown as the calendar's end: a listing must not fail because of it.
    shown = max(0.0, at) if at <= LAST_MOMENT else LAST_MOMENT
    return datetime.fromtimestamp(shown, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
