"""A new database of the store as a copy: the tables of one take longer to create than most tests."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from shoal.jobs.deployment import make_folder
from shoal.store.store import Store


def make_home(home: Path) -> None:
    """A home with an empty database, unless it has one."""
    make_folder(home)
    place = home / "shoal.db"
    if not place.exists():
        place.write_bytes(new_database())


@cache
def new_database() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "shoal.db"
        Store.open(place).close()
        return place.read_bytes()
