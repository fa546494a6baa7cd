"""Tables of the archive: its segments, and the files of items."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Index, Table, Text

from shoal.store.tables.metadata import metadata

segments = Table(
    "segments",
    metadata,
    Column("job", Text, primary_key=True),
    Column("segment", Text, primary_key=True),
    Column("machine", Text, nullable=False),
    Column("process", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    # Few segments are open, and these are looked up often.
    Index("segments_by_state", "state", "process"),
)

stored_files = Table(
    "stored_files",
    metadata,
    # A job that uses the file. Several may use the same one.
    Column("job", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("bytes", BigInteger, nullable=False),
    Index("stored_files_by_path", "path"),
)
