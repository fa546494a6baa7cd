"""The spec of a Scrapy job that the workers of a fleet run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import UsageError
from shoal.model import JobSpec, ScrapyRun
from shoal.model.options import OPTIONS
from shoal.spiders.build_job_spec import JobDraft
from shoal.spiders.input_sources import Sources, empty_sources
from shoal.urls import Params

_TAKEN = {
    *("max_pages", "max_pages_per_host", "max_bytes", "max_seconds"),
    *("lane", "priority", "name", "sink", "webhook", "webhook_secret", "max_failure_rate"),
}
"""Options of a job that mean the same for a Scrapy project."""


def check_options(options: Mapping[str, Any]) -> None:
    """Raises UsageError for options that Scrapy's settings have instead."""
    if strange := [OPTIONS[name].flag if name in OPTIONS else f"--{name}" for name in options if name not in _TAKEN]:
        raise UsageError(f"{', '.join(strange)}: not for a Scrapy project, which has settings instead: -s NAME=VALUE")


def scrapy_spec(spider: str, run: ScrapyRun, options: Mapping[str, Any]) -> JobSpec:
    """`options` are those of a job. Raises UsageError."""
    spec = JobDraft.of({"name": spider, **options}, None, False).spec(no_sources(), None)
    return spec.with_fields({"scrapy": spider, "scrapy_run": run, "archive": False, "text": False})


def no_sources() -> Sources:
    """The spider has its own start URLs."""
    return empty_sources(Params(), "host")
