"""Segments on machines that never came back, and the pages whose bodies were in them.

For a running job: call `forget_pages`, let its frontier forget the job, so that it is restored from the store and
fetches these pages again, and call `give_up` last. If the process dies in between, the next one repeats it all. For a
job that has ended, only call `give_up`: its pages stay, without their bodies.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, delete, select, update

from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.segment_table import LOST, Segment, note_stored, open_segments
from shoal.store.crawl.change_log import changed_items, log_apart
from shoal.store.crawl.item_rows import take_items
from shoal.store.store import Store
from shoal.store.tables import contents, pages, segments

LOST_AFTER_S = 3600.0
_FORGOTTEN_AT_ONCE = 500


def lost_segments(store: Store, archive: Archive, living: Collection[str], before: float) -> list[Segment]:
    """Open segments that are not in the archive, of machines not in `living`, last reported before this time."""
    silent = [one for one in open_segments(store) if one.at < before and one.machine not in living]
    return note_stored(store, archive, silent) if silent else []


def forget_pages(store: Store, segment: Segment) -> int:
    """Removes the pages whose bodies are in a segment, with their items, in small steps. Returns their number."""
    in_segment = _refers_to(segment)

    def forget(db: Connection) -> int:
        some = list(db.execute(select(pages.c.fingerprint).where(*in_segment).limit(_FORGOTTEN_AT_ONCE)).scalars())
        store.lock_requests(db, segment.job, some)
        # Before they were locked, another process may have saved one of them again, with a body in another segment.
        lost = select(pages.c.fingerprint).where(*in_segment, pages.c.fingerprint.in_(some))
        fingerprints = list(db.execute(lost).scalars())
        gone = take_items(db, segment.job, fingerprints)
        for table in (contents, pages):
            db.execute(delete(table).where(table.c.job == segment.job, table.c.fingerprint.in_(fingerprints)))
        log_apart(store, db, segment.job, changed_items(gone, ()))
        return len(some)

    forgotten = 0
    while n := store.change(forget):
        forgotten += n
    return forgotten


def give_up(store: Store, segment: Segment) -> None:
    """Marks the segment as lost, and clears the references of pages to it."""

    def mark(db: Connection) -> None:
        db.execute(update(pages).where(*_refers_to(segment)).values(archive=None))
        this = (segments.c.job == segment.job, segments.c.segment == segment.segment)
        db.execute(update(segments).where(*this).values(state=LOST, at=time.time()))

    store.change(mark)


def _refers_to(segment: Segment) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return pages.c.job == segment.job, pages.c.archive.startswith(f"{segment.name}:", autoescape=True)
