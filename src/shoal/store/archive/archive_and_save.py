"""Makes the results of leases durable in the store's thread: archives the exchanges, then saves the rows."""

from __future__ import annotations

from shoal.model import PageRecord
from shoal.store.archive.recorder import Recorder
from shoal.store.crawl.save_batch import UNARCHIVED, Batch, save
from shoal.store.store import Store


def archive_and_save(store: Store, batch: Batch, recorder: Recorder) -> None:
    """Archives first, so that no row refers to a missing record. Raises Unavailable."""
    if batch.captures:
        appended = recorder.append(store, [capture for _, capture in batch.captures])
        for (record, _), reference in zip(batch.captures, appended.references, strict=True):
            if isinstance(record, PageRecord):
                record.archive = str(reference) if reference else None
        if appended.left_out:
            batch.tallies[UNARCHIVED, ""] = (appended.left_out, None)
        # If there is no room for the rows, the caller repeats all of this.
        batch.captures.clear()
    save(store, batch)
