"""What a run in this process gives back: the job's figures, and its data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from shoal.jobs.job_overview import Overview
from shoal.store.results.columns import PAGE
from shoal.store.store import Store

if TYPE_CHECKING:
    from shoal.store.results.items import ItemTable


class Report(NamedTuple):
    """The result of a run."""

    overview: Overview
    seconds: float
    """The duration of this run."""
    database: Path
    """Of the home: the data is read from there, so that a report of a million items is small."""

    def __repr__(self) -> str:
        """Short: the figures of a job are a page long."""
        seen, stored = self.overview, self.overview.stored
        return (
            f"<Report of {seen.job.spec.name} ({seen.job.id}): {seen.state}, pages={stored.pages}, "
            f"items={stored.items}, dead={stored.dead}, seconds={self.seconds:.1f}>"
        )

    def items(self) -> Iterator[dict[str, Any]]:
        """The job's items in crawl order, with the same fields as in an export."""
        with self._item_table() as rows:
            for row in rows:
                yield dict(row)

    def pages(self) -> Iterator[dict[str, Any]]:
        """The job's page records, in crawl order."""
        # Imported here only: not everybody who crawls reads.
        from shoal.store.results.listings import list_pages

        with Store.open(self.database) as store:
            yield from map(dict, list_pages(store, self.overview.job.id, {}))

    def to_pandas(self, what: Literal["items", "pages"] = "items") -> Any:
        """A DataFrame of the items or the pages, with the types of their fields. Raises UsageError without pandas."""
        # Imported here only: few programs ask for it.
        from shoal.embedded.data_frame import data_frame

        if what == "pages":
            return data_frame(self.pages(), PAGE)
        with self._item_table() as rows:
            return data_frame(rows, rows.columns)

    @contextmanager
    def _item_table(self) -> Iterator[ItemTable]:
        from shoal.store.results.items import item_table

        with Store.open(self.database) as store, item_table(store, self.overview.job.id, {}) as rows:
            yield rows
