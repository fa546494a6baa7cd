"""Submits a job to a fleet whose servers this machine can reach."""

from __future__ import annotations

from typing import Any

from shoal.cli.backends import SubmittedJob
from shoal.cli.job_request import read_request
from shoal.cli.scrapy_flags import ScrapyFlags
from shoal.cli.session import Session
from shoal.fleet.fleet import Fleet
from shoal.fleet.scrapy_spec import no_sources
from shoal.fleet.submit import submit


def submit_scrapy(session: Session, flags: ScrapyFlags) -> str:
    """Returns the id of the job."""
    fleet = Fleet(session.settings)
    try:
        return session.run(submit(fleet, no_sources(), flags.spec)).id
    finally:
        session.run(fleet.close())


def submit_job(
    session: Session, source: tuple[str, ...], column: str | None, strict: bool, options: dict[str, Any]
) -> SubmittedJob:
    fleet = Fleet(session.settings)
    request = read_request(session, source, column, strict, None, options)
    try:
        made = session.run(submit(fleet, request.sources, request.spec_once_read))
    finally:
        session.run(fleet.close())
    return SubmittedJob(made.id, request.spec.name, made.accepted, made.duplicates, made.rejected, request.listed)
