"""Writes the bytes of an export to an object store: first to a temporary file, then whole under the final name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from shoal.object_store.contract import ObjectStore
from shoal.object_store.wait_for_store import wait_for_store
from shoal.store.results.parquet import Chunk


def put_chunks(objects: ObjectStore, key: str, chunks: Iterable[Chunk]) -> int:
    """Returns the number of rows. Waits some minutes for a store that is away. Raises Unavailable."""
    with TemporaryDirectory(prefix="shoal-") as folder:
        file = Path(folder) / "object"
        written = 0
        with file.open("wb") as out:
            for chunk in chunks:
                out.write(chunk.data)
                written += chunk.rows
        wait_for_store(objects.put_file, key, file)
    return written
