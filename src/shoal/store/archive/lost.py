"""Segments of a machine that never came back, and the pages whose bodies went with them.

Of a job that goes on, `forget_pages`, let its frontier forget the job, so that it is restored from the store and asks
for them anew, and `give_up` the segment last: whoever dies in between does it all again. Of a job that has ended only
give it up: its pages stay, without their bodies.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, delete, select, update

from shoal.store.archive.archive import Archive
from shoal.store.archive.segments import LOST, Segment, note_stored, open_segments
from shoal.store.item_rows import clear_items
from shoal.store.store import Store
from shoal.store.tables import contents, pages, segments

LOST_AFTER_S = 3600.0
_FORGOTTEN_AT_ONCE = 500


def lost_segments(store: Store, archive: Archive, living: Collection[str], before: float) -> list[Segment]:
    """Those last told of before this time, by a machine that is not among the living, and not in the archive."""
    silent = [one for one in open_segments(store) if one.at < before and one.machine not in living]
    return note_stored(store, archive, silent) if silent else []


def forget_pages(store: Store, segment: Segment) -> int:
    """Removes the pages whose bodies are in a segment, with what they gave, some at a time; says how many."""
    in_segment = _refers_to(segment)

    def forget(db: Connection) -> int:
        some = list(db.execute(select(pages.c.fingerprint).where(*in_segment).limit(_FORGOTTEN_AT_ONCE)).scalars())
        store.hold(db, segment.job, some)
        # Until they were held, one of them may have been saved anew, with a body elsewhere.
        lost = select(pages.c.fingerprint).where(*in_segment, pages.c.fingerprint.in_(some))
        fingerprints = list(db.execute(lost).scalars())
        clear_items(db, segment.job, fingerprints)
        for table in (contents, pages):
            db.execute(delete(table).where(table.c.job == segment.job, table.c.fingerprint.in_(fingerprints)))
        return len(some)

    forgotten = 0
    while n := store.change(forget):
        forgotten += n
    return forgotten


def give_up(store: Store, segment: Segment) -> None:
    """Nobody waits for it any more; pages that refer to it say that they have no body."""

    def mark(db: Connection) -> None:
        db.execute(update(pages).where(*_refers_to(segment)).values(archive=None))
        this = (segments.c.job == segment.job, segments.c.segment == segment.segment)
        db.execute(update(segments).where(*this).values(state=LOST, at=time.time()))

    store.change(mark)


def _refers_to(segment: Segment) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return pages.c.job == segment.job, pages.c.archive.startswith(f"{segment.name}:", autoescape=True)
