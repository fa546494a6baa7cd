"""What people see of a job's data: which of its results by default, and which columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import UsageError
from shoal.store.jobs import Job
from shoal.store.results.columns import PROVENANCE, Columns, Kind
from shoal.wording import did_you_mean

Row = Mapping[str, Any]


def default_data(job: Job) -> str:
    """The main result of the job."""
    return "items" if job.gives_items else "pages"


@dataclass(frozen=True, slots=True)
class DataView:
    """What an export shows of the data."""

    fields: tuple[str, ...] = ()
    """Its columns in order; all if empty."""
    provenance: bool = False
    """Adds where each item comes from."""
    may_lack: bool = False
    """Accepts fields that no item has yet: what a Python spider finds is known only when it has found it."""

    def check(self, what: str, columns: Columns, are_all_known: bool) -> None:
        """Raises UsageError for a field that the data does not have; `columns` without provenance."""
        if self.provenance and what != "items":
            raise UsageError(f"provenance is for items, and these are {what}, which say where they come from")
        unknown = self.lacking(columns) if are_all_known and not self.may_lack else []
        if unknown:
            raise UsageError(f"there is no field {unknown[0]}: choose from {', '.join(self._known(columns))}")

    def lacking(self, columns: Columns) -> list[str]:
        """The fields that are not among the columns, quoted, each with the nearest one that is."""
        known = self._known(columns)
        return [f"{name!r}{did_you_mean(name, known)}" for name in self.fields if name not in known]

    def _known(self, columns: Columns) -> tuple[str, ...]:
        return (*columns, *PROVENANCE) if self.provenance else tuple(columns)

    def columns(self, columns: Columns) -> Columns:
        shown = {**columns, **PROVENANCE} if self.provenance else columns
        return {name: shown.get(name, Kind.TEXT) for name in self.fields} if self.fields else shown

    def row(self, row: Row) -> Row:
        return {name: row.get(name) for name in self.fields} if self.fields else row


ALL_FIELDS = DataView()
