"""Shortens HTTP heads that are too long for some readers of WARC files, and says so in the head itself."""

from __future__ import annotations

import re

MOST_BYTES = 32_000
"""fastwarc stops reading a file at a record whose head has more than 32 KiB, whatever follows it."""
MOVED = b"X-Crawler-"
"""Prefix of the name of a field that was changed."""
_LONG_FIELD_BYTES = 1_000
_CUT_TO_BYTES = 100
# A request line holds a URL of at most 8,192 characters, so it is never cut.
_FIRST_LINE_BYTES = 10_000
_NOTES_BYTES = 200
_FOLD = re.compile(rb"\r\n[ \t]+")


def shorten_head(head: bytes) -> bytes:
    """Cuts and renames long fields. If there are still too many fields, keeps as many as there is room for."""
    first, *fields = _FOLD.sub(b" ", head.removesuffix(b"\r\n\r\n")).split(b"\r\n")
    fields = [field if len(field) <= _LONG_FIELD_BYTES else _cut(field) for field in fields]
    if len(first) > _FIRST_LINE_BYTES:
        fields.insert(0, MOVED + b"Reason: (cut, %d bytes came)" % len(first))
        first = first[:_CUT_TO_BYTES]
    fields = _fitting(fields, MOST_BYTES - _NOTES_BYTES - len(first))
    return b"\r\n".join((first, *fields, b"", b""))


def _cut(field: bytes) -> bytes:
    name, _, value = field.removeprefix(MOVED).partition(b":")
    received = value.strip()
    return MOVED + b"%b: %b (cut, %d bytes came)" % (name[:_CUT_TO_BYTES], received[:_CUT_TO_BYTES], len(received))


def _fitting(fields: list[bytes], room: int) -> list[bytes]:
    """Keeps the order of the fields. Fields that describe the body get room before all others."""
    kept = set()
    for place in sorted(range(len(fields)), key=lambda place: not fields[place].lower().startswith(b"content-")):
        room -= len(fields[place]) + 2
        if room < 0:
            break
        kept.add(place)
    if len(kept) == len(fields):
        return fields
    left = [field for place, field in enumerate(fields) if place not in kept]
    note = MOVED + b"Left-Out: %d fields of %d bytes" % (len(left), sum(map(len, left)))
    return [*(field for place, field in enumerate(fields) if place in kept), note]
