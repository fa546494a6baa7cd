"""Calls about what a job found and gave up on: listed, exported, explained, tried again."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, cast

from shoal.client.told import Explained, Letter, Page
from shoal.client.transport import Transport, query_of, quoted
from shoal.errors import UsageError

FORMATS = ("jsonl", "csv", "parquet")
_ARCHIVE = ".warc.gz"

Rows = Generator[dict[str, Any], None, None]
"""Read as they come; whoever wants no more of them closes it."""


class DataCalls(Transport):
    def pages(self, id: str, *, status: int | None = None, host: str | None = None) -> Iterator[Page]:
        return self._parts(f"/jobs/{quoted(id)}/pages", "pages", {"status": status, "host": host})

    def body(self, id: str, fingerprint: str) -> bytes:
        """Of a page, as the archive has it, unpacked."""
        return b"".join(self._blocks(f"/jobs/{quoted(id)}/pages/{quoted(fingerprint)}/body"))

    def items(self, id: str, *, type: str | None = None) -> Iterator[dict[str, Any]]:
        """With `_url`, `_page` and `_type`; an export has them without."""
        return self._parts(f"/jobs/{quoted(id)}/items", "items", {"type": type})

    def rejects(self, id: str, *, type: str | None = None) -> Rows:
        """What failed validation, and why."""
        return self.rows(id, "rejects", type=type)

    def dead(
        self, id: str, *, reason: str | None = None, status: int | None = None, host: str | None = None
    ) -> Iterator[Letter]:
        where = {"reason": reason, "status": status, "host": host}
        return self._parts(f"/jobs/{quoted(id)}/dead", "dead", where)

    def dead_groups(self, id: str, *by: str, **where: Any) -> list[dict[str, Any]]:
        """How many are alike in `reason`, `status` or `host`, most frequent first, with samples."""
        return list(self._get(f"/jobs/{quoted(id)}/dead", {**where, "group": ",".join(by)})["groups"])

    def retry(self, id: str, **where: Any) -> int:
        """Tries dead letters again, all or those of a reason, status or host; says how many they are."""
        return int(self._post(f"/jobs/{quoted(id)}/dead/retry", where)["retried"])

    def purge(self, id: str, **where: Any) -> int:
        """Forgets dead letters, all or by the same filter; says how many they were."""
        return int(self._change("DELETE", f"/jobs/{quoted(id)}/dead{query_of(where)}")["purged"])

    def explain(self, id: str, url: str) -> Explained:
        return cast(Explained, self._get(f"/jobs/{quoted(id)}/explain", {"url": url}))

    def explanation(self, id: str, url: str) -> dict[str, Any]:
        """All that `explain` is made of: the records of the URL and of where it leads."""
        return self._get(f"/jobs/{quoted(id)}/explanation", {"url": url})

    def diff(self, id: str, other: str) -> Rows:
        """What the other job has more, less or otherwise."""
        return _rows(self._blocks(f"/jobs/{quoted(id)}/diff", {"other": other}))

    def export(self, id: str, path: str | Path, *, what: str | None = None) -> int:
        """Items, pages or inputs into a .jsonl, .csv or .parquet file, which is there when it is whole; its bytes.

        With the ending .warc.gz: the job's archive.
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
        self, id: str, format: str = "jsonl", *, what: str | None = None, type: str | None = None
    ) -> Generator[bytes, None, None]:
        return self._blocks(f"/jobs/{quoted(id)}/export", {"format": format, "what": what, "type": type})

    def archive(self, id: str) -> Generator[bytes, None, None]:
        """Every request and answer of the job, as one .warc.gz."""
        return self._blocks(f"/jobs/{quoted(id)}/archive")

    def rows(self, id: str, what: str | None = None, *, type: str | None = None) -> Rows:
        """What `export` writes, one by one."""
        return _rows(self.exported(id, what=what, type=type))

    def _exported_to(self, id: str, to: Path, what: str | None) -> Iterator[bytes]:
        if to.name.endswith(_ARCHIVE):
            return self.archive(id)
        format = to.suffix.removeprefix(".").lower()
        if format not in FORMATS:
            endings = ", ".join([*(f".{name}" for name in FORMATS), _ARCHIVE])
            raise UsageError(f"{to.name}: give it an ending of {endings}")
        return self.exported(id, format, what=what)


def _rows(blocks: Generator[bytes, None, None]) -> Rows:
    held = b""
    try:
        for block in blocks:
            *lines, held = (held + block).split(b"\n")
            yield from map(json.loads, lines)
    finally:
        blocks.close()
