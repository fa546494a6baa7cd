"""The rows of the list of jobs as HTML. Those of jobs that have ended are kept: writing them is most of the page."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import NamedTuple

from flask import render_template
from markupsafe import Markup

from shoal.dashboard.job_rows import JobRow
from shoal.model import ENDED

_KEPT = 1_000


class _Key(NamedTuple):
    """All that can change in the row of a job that has ended."""

    id: str
    version: int
    finished_at: float | None
    next_run: str | None
    today: date
    """Times of today have no date."""


class RowHtml:
    def __init__(self) -> None:
        self._known: dict[_Key, Markup] = {}

    def of(self, row: JobRow, next_run: str | None) -> Markup:
        """`next_run`: None if the list has no such column."""
        job = row.job
        key = _Key(job.id, job.version, job.finished_at, next_run, datetime.now(UTC).date())
        if (known := self._known.get(key)) is not None and job.state in ENDED:
            return known
        made = Markup(render_template("job_row.html", row=row, next_run=next_run))
        if job.state in ENDED and row.progress is not None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = made
        return made
