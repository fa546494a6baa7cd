"""Parts: files in a folder or a bucket, one after the other, while the crawl runs.

    books/book/part-nfk365y37d3-000004.parquet

A part has the number of its batch. Its end is stored before it is written. So a repeated part has the same name and the
same items, and replaces the first. Until then, items wait in a temporary file of this process.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import IO, TYPE_CHECKING, Any

from shoal.errors import NO_ROOM, DiskFull, MissingExtra, Unavailable, UsageError
from shoal.model import ItemType
from shoal.model.field_type import TEXT, FieldType
from shoal.object_store.open_store import open_store
from shoal.sinks.destination import Destination, Options, SinkBatch, SinkItem
from shoal.sinks.item_json import item_fields, json_line, removed_fields
from shoal.sinks.tables.table_sink import snake_case
from shoal.store.crawl.sink_state import Refusal
from shoal.store.results.columns import Columns, Kind
from shoal.store.results.row_formats import FileFormat, file_chunks

if TYPE_CHECKING:
    from shoal.store.results.arrow_types import ArrowColumn

_FORMATS = {
    "parquet": FileFormat("parquet"),
    "jsonl": FileFormat("jsonl"),
    "jsonl.gz": FileFormat("jsonl", "gz"),
    "jsonl.zst": FileFormat("jsonl", "zst"),
}
_ROWS, _MINUTES = 100_000, 5.0
_BYTES = 64_000_000
"""Of a part's items as JSON."""
_OWN: Columns = {
    "_id": Kind.TEXT,
    "_type": Kind.TEXT,
    "_job": Kind.TEXT,
    "_url": Kind.TEXT,
    "_batch": Kind.INTEGER,
    "_deleted": Kind.BOOLEAN,
}


@dataclass
class _Spool:
    """The items of one type that wait for their part."""

    file: IO[str]
    names: dict[str, FieldType] = field(default_factory=dict)
    """The fields of items whose type nobody declared."""


class PartsSink(Destination):
    buffers = True

    def __init__(self, job: str, url: str, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        self._job = job
        self._objects = open_store(url)
        self._suffix = options.get("format", "parquet")
        if self._suffix not in _FORMATS:
            raise UsageError(f"sink {url}: format {self._suffix} is none of {', '.join(_FORMATS)}")
        if self._suffix == "parquet" and importlib.util.find_spec("pyarrow") is None:
            raise MissingExtra(f"sink {url}: Parquet needs pyarrow (or add ?format=jsonl)", "parquet")
        self._most_rows = int(_positive(url, options, "rows", _ROWS))
        self._seconds = _positive(url, options, "minutes", _MINUTES) * 60
        self._clock = clock
        self._types: Mapping[str, Mapping[str, FieldType]] = {}
        self._arrow: dict[str, dict[str, ArrowColumn]] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._spools: dict[str, _Spool] = {}
        self._rows = self._bytes = 0
        self._began = 0.0

    def prepare(self, types: Sequence[ItemType]) -> None:
        self._objects.check()

    def deliver(self, batch: SinkBatch) -> list[Refusal]:
        types = {each.name: each.fields for each in batch.types}
        if types != self._types:
            self._types = types
            self._arrow.clear()
        with _on_disk():
            if self._folder is None:
                self._folder = TemporaryDirectory(prefix="shoal-sink-")
                self._began = self._clock()
            refusals = [found for chunk in batch.chunks for item in chunk if (found := self._collect(batch, item))]
            for name in batch.removed:
                self._write(name.type, {**removed_fields(batch.job, name), "_batch": batch.number})
        return refusals

    def is_full(self, idle: bool) -> bool:
        if not self._rows:
            # What was taken over has no items: nothing has to wait.
            return idle
        late = self._clock() - self._began >= self._seconds
        return late or self._rows >= self._most_rows or self._bytes >= _BYTES

    def flush(self, number: int) -> list[Refusal]:
        for type, spool in self._spools.items():
            part = Path(self._made_folder) / "part"
            with _on_disk(), part.open("wb") as out:
                spool.file.flush()
                for chunk in file_chunks(_rows(spool), _FORMATS[self._suffix], self._columns(type, spool)):
                    out.write(chunk.data)
            self._objects.put_file(f"{snake_case(type)}/part-{self._job}-{number:06}.{self._suffix}", part)
        self.discard()
        return []

    def discard(self) -> None:
        for spool in self._spools.values():
            # Closing writes what is buffered, and the disk may be full.
            with suppress(OSError):
                spool.file.close()
        self._spools.clear()
        self._rows = self._bytes = 0
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def close(self) -> None:
        self.discard()

    @property
    def _made_folder(self) -> str:
        assert self._folder is not None
        return self._folder.name

    def _collect(self, batch: SinkBatch, item: SinkItem) -> Refusal | None:
        fields = item_fields(batch.job, item)
        if reason := self._misfit(item.name.type, fields):
            return Refusal(item.name, item.page, item.data, reason)
        self._write(item.name.type, {**fields, "_batch": batch.number, "_deleted": False})
        return None

    def _misfit(self, type: str, fields: Mapping[str, Any]) -> str | None:
        """Why a value does not fit its Parquet column."""
        if self._suffix != "parquet" or type not in self._types:
            return None
        from shoal.store.results.arrow_types import DoesNotFit, arrow_column

        if type not in self._arrow:
            self._arrow[type] = {name: arrow_column(of) for name, of in self._types[type].items()}
        for name, column in self._arrow[type].items():
            try:
                column.values([fields.get(name)])
            except DoesNotFit as error:
                return f"{name}: {error!s:.200}"
        return None

    def _write(self, type: str, fields: dict[str, Any]) -> None:
        spool = self._spools.get(type)
        if spool is None:
            path = Path(self._made_folder) / f"spool-{len(self._spools)}"
            spool = self._spools[type] = _Spool(path.open("w+", encoding="utf-8", errors="surrogatepass"))
        if type not in self._types:
            spool.names |= {name: TEXT for name in fields if name not in _OWN}
        line = json_line(fields)
        spool.file.write(f"{line}\n")
        self._rows += 1
        self._bytes += len(line)

    def _columns(self, type: str, spool: _Spool) -> Columns:
        return {**_OWN, **self._types.get(type, spool.names), **_OWN}


@contextmanager
def _on_disk() -> Iterator[None]:
    """Translates what a full disk raises."""
    try:
        yield
    except OSError as error:
        place = Path(gettempdir())
        if error.errno in NO_ROOM:
            raise DiskFull(place) from error
        raise Unavailable(f"{place} cannot be used: {error.strerror}; check its disk and permissions") from error


def _rows(spool: _Spool) -> Iterator[dict[str, Any]]:
    spool.file.seek(0)
    return map(json.loads, spool.file)


def _positive(url: str, options: Options, name: str, default: float) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise UsageError(f"sink {url}: {name}={text} is no number above 0")
    return value
