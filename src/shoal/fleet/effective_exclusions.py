"""The operator's exclusions for a whole fleet: those in the file of the settings, and those set through the API."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from shoal.errors import FrontierLost
from shoal.fleet.fleet import Fleet
from shoal.settings import Settings
from shoal.store.fleet.exclusions import StoredExclusions, replace_exclusions, stored_exclusions
from shoal.store.jobs import unfinished_jobs
from shoal.store.store import Store
from shoal.urls.exclusions import Exclusions, read_exclusions


def all_exclusions(settings: Settings, store: Store) -> Exclusions:
    """Raises UsageError if the file cannot be read."""
    return read_exclusions(settings.exclusions).with_lines(stored_exclusions(store))


async def exclude(fleet: Fleet, lines: Sequence[str], version: int | None = None) -> StoredExclusions | None:
    """Replaces the exclusions of the API; workers apply them at the next lease of each job.

    Returns None if the stored version is not the expected one. Raises UsageError for an invalid line.
    """
    Exclusions(lines)
    # Before they are stored: without Redis, workers would not learn of them and continue as before.
    await fleet.frontier.connection.check()
    changed = replace_exclusions(fleet.store, lines, version)
    for job in unfinished_jobs(fleet.store) if changed else ():
        with suppress(FrontierLost):
            await fleet.frontier.touch(job.id)
    return changed
