"""Models for the full details of a job, with secrets masked: the same objects that the commands use."""

from __future__ import annotations

from pydantic import Field, RootModel

from shoal.control.models.strict_models import ResponseBody
from shoal.jobs.explain import Explanation
from shoal.jobs.job_overview import Overview
from shoal.store.jobs import Job
from shoal.store.results.crawl_shape import CrawlShape
from shoal.store.results.quality import FieldQuality


class JobShown(RootModel[Job]):
    """The job's options and state."""


class OverviewShown(RootModel[Overview]):
    """The job's figures from frontier and store, with failures and traps."""


class QualityShown(ResponseBody):
    """Quality per field; empty for a job that extracts no items or has not ended."""

    now: list[FieldQuality]
    before: list[FieldQuality] = Field(description="Quality of the last successful run with the same name.")


class ShapeShown(RootModel[CrawlShape]):
    """Pages by depth and size, the slowest hosts, and which pages and hosts led to which."""


class ExplanationShown(RootModel[Explanation]):
    """The records of a URL and of its redirects."""
