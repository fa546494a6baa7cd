"""The operator's exclusions of a whole fleet: those of the settings' file and those that were given over the API."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from shoal.errors import FrontierLost
from shoal.fleet.place import Fleet
from shoal.settings import Settings
from shoal.store.exclusions import Stored, replace_exclusions, stored_exclusions
from shoal.store.jobs import unfinished
from shoal.store.store import Store
from shoal.urls.exclusions import Exclusions, read_exclusions


def all_exclusions(settings: Settings, store: Store) -> Exclusions:
    """Raises UsageError if the file cannot be read."""
    return read_exclusions(settings.exclusions).with_lines(stored_exclusions(store))


async def exclude(fleet: Fleet, lines: Sequence[str], version: int | None = None) -> Stored | None:
    """In place of those that were given before; workers follow with their next lease of each job.

    None: those are of another version than was expected. Raises UsageError, with the line, for one that says nothing.
    """
    Exclusions(lines)
    # Before they are stored: workers who are not told would go on as before.
    await fleet.frontier.connection.check()
    changed = replace_exclusions(fleet.store, lines, version)
    for job in unfinished(fleet.store) if changed else ():
        with suppress(FrontierLost):
            await fleet.frontier.touch(job.id)
    return changed
