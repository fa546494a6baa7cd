"""A job whole, as a command shows it; secrets are masked. What is told is what the commands themselves are made of."""

from __future__ import annotations

from pydantic import Field, RootModel

from shoal.control.models.given import Told
from shoal.jobs.explain import Explanation
from shoal.jobs.overview import Overview
from shoal.store.jobs import Job
from shoal.store.quality import FieldQuality


class JobShown(RootModel[Job]):
    """What was asked for, and how far it got."""


class OverviewShown(RootModel[Overview]):
    """Its figures from frontier and store, with failures and traps."""


class QualityShown(Told):
    """Field by field; empty of a job that gives no items or has not ended."""

    now: list[FieldQuality]
    before: list[FieldQuality] = Field(description="Of the last run of the same name that ended well.")


class ExplanationShown(RootModel[Explanation]):
    """The records of a URL, and of where it leads."""
