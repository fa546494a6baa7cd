"""Calls for a job's data: list and export pages and items, explain URLs, list and retry dead letters."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from shoal.client.responses.data import Explained, Letter, LetterGroup, Page
from shoal.client.transport import Transport, query_of, quoted
from shoal.errors import UsageError

FORMATS = ("jsonl", "csv", "parquet", "json")
_ARCHIVE = ".warc.gz"

Rows = Generator[dict[str, Any], None, None]
"""Rows are read as they arrive; close the generator to stop early."""


class DataCalls(Transport):
    def pages(
        self, id: str, *, status: int | None = None, host: str | None = None, merged: bool = False
    ) -> Iterator[Page]:
        """`merged`: lists those instead that `--canonical merge` counts as one with another page."""
        return self._parts(
            f"/jobs/{quoted(id)}/pages", "pages", {"status": status, "host": host, "merged": "true" if merged else None}
        )

    def body(self, id: str, fingerprint: str) -> bytes:
        """The decompressed body of a page, from the archive."""
        return b"".join(self._blocks(f"/jobs/{quoted(id)}/pages/{quoted(fingerprint)}/body"))

    def items(self, id: str, *, type: str | None = None) -> Iterator[dict[str, Any]]:
        """Items with `_url`, `_page` and `_type`, which an export does not have."""
        return self._parts(f"/jobs/{quoted(id)}/items", "items", {"type": type})

    def rejects(self, id: str, *, type: str | None = None) -> Rows:
        """Items that failed validation, with the reason."""
        return self.rows(id, "rejects", type=type)

    def refused(self, id: str, *, type: str | None = None) -> Rows:
        """Items that a sink refused, with the destination's words."""
        return self.rows(id, "refused", type=type)

    def redeliver(self, id: str) -> int:
        """Lets the sinks try their refused items again; returns how many."""
        return int(self._post(f"/jobs/{quoted(id)}/refused/retry", {})["redelivered"])

    def dead(
        self, id: str, *, reason: str | None = None, status: int | None = None, host: str | None = None
    ) -> Iterator[Letter]:
        where = {"reason": reason, "status": status, "host": host}
        return self._parts(f"/jobs/{quoted(id)}/dead", "dead", where)

    def dead_groups(self, id: str, *by: str, **where: Any) -> list[LetterGroup]:
        """Counts dead letters by `reason`, `status` or `host`, most frequent first, with samples."""
        return list(self._get(f"/jobs/{quoted(id)}/dead", {**where, "group": ",".join(by)})["groups"])

    def retry(self, id: str, **where: Any) -> int:
        """Retries dead letters, all or those with a reason, status or host; returns how many."""
        return int(self._post(f"/jobs/{quoted(id)}/dead/retry", where)["retried"])

    def purge(self, id: str, **where: Any) -> int:
        """Deletes dead letters, all or by the same filter; returns how many."""
        return int(self._change("DELETE", f"/jobs/{quoted(id)}/dead{query_of(where)}")["purged"])

    def explain(self, id: str, url: str) -> Explained:
        return cast(Explained, self._get(f"/jobs/{quoted(id)}/explain", {"url": url}))

    def explanation(self, id: str, url: str) -> dict[str, Any]:
        """The data behind `explain`: the records of the URL and of its redirects."""
        return self._get(f"/jobs/{quoted(id)}/explanation", {"url": url})

    def diff(self, id: str, other: str) -> Rows:
        """Pages and items that were added, are gone or have changed in the other job."""
        return _rows(self._blocks(f"/jobs/{quoted(id)}/diff", {"other": other}))

    def export(self, id: str, path: str | Path, *, what: str | None = None) -> int:
        """Writes items, pages or inputs to a .jsonl, .csv, .parquet or .json file; returns its size in bytes.

        The extension .warc.gz writes the job's archive. The file appears only when it is complete.
        """
        to = Path(path)
        part = to.with_name(to.name + ".part")
        blocks = self._exported_to(id, to, what)
        try:
            with part.open("wb") as file:
                for block in blocks:
                    file.write(block)
            part.replace(to)
        finally:
            part.unlink(missing_ok=True)
        return to.stat().st_size

    def exported(
        self,
        id: str,
        format: str = "jsonl",
        *,
        what: str | None = None,
        type: str | None = None,
        fields: Sequence[str] = (),
        provenance: bool = False,
    ) -> Generator[bytes, None, None]:
        """`fields` chooses the columns; `provenance` adds to each item where it comes from."""
        shown = {"fields": ",".join(fields) or None, "provenance": "true" if provenance else None}
        return self._blocks(f"/jobs/{quoted(id)}/export", {"format": format, "what": what, "type": type, **shown})

    def archive(self, id: str) -> Generator[bytes, None, None]:
        """Every request and response of the job, as one .warc.gz."""
        return self._blocks(f"/jobs/{quoted(id)}/archive")

    def files(self, id: str) -> Generator[bytes, None, None]:
        """The files that items refer to, each content once, as one .tar."""
        return self._blocks(f"/jobs/{quoted(id)}/files")

    def rows(self, id: str, what: str | None = None, *, type: str | None = None) -> Rows:
        """The rows that `export` writes, one by one."""
        return _rows(self.exported(id, what=what, type=type))

    def _exported_to(self, id: str, to: Path, what: str | None) -> Iterator[bytes]:
        if to.name.endswith(_ARCHIVE):
            return self.archive(id)
        format = to.suffix.removeprefix(".").lower()
        if format not in FORMATS:
            endings = ", ".join([*(f".{name}" for name in FORMATS), _ARCHIVE])
            raise UsageError(f"{to.name}: unknown extension; use one of {endings}")
        return self.exported(id, format, what=what)


def _rows(blocks: Generator[bytes, None, None]) -> Rows:
    held = b""
    try:
        for block in blocks:
            *lines, held = (held + block).split(b"\n")
            yield from map(json.loads, lines)
    finally:
        blocks.close()
