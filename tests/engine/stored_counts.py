"""What a job has learnt, as a process loads it that begins later."""

from __future__ import annotations

from shoal.engine.learnt_counts import LearntCounts
from shoal.store.crawl.learnt_counts import load_learnt_counts
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.store import Store


def stored(store: Store, *several: LearntCounts) -> dict[tuple[str, str], int]:
    """Saves what each process has learnt."""
    for learnt in several:
        save(store, Batch("job", tallies=learnt.take_changes()))
    return load_learnt_counts(store, "job")
