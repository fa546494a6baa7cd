"""The spec of a Scrapy job that the workers of a fleet run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.model import JobSpec, ScrapyRun
from shoal.spiders.build_job_spec import JobDraft
from shoal.spiders.input_sources import Sources, no_urls
from shoal.urls import Params


def scrapy_spec(spider: str, run: ScrapyRun, options: Mapping[str, Any]) -> JobSpec:
    """`options` are those of a job. Raises UsageError."""
    spec = JobDraft.of({"name": spider, **options}, None, False).spec(no_sources(), None)
    return spec.with_fields({"scrapy": spider, "scrapy_run": run, "archive": False, "text": False})


def no_sources() -> Sources:
    """The spider has its own start URLs."""
    return no_urls(Params(), "host")
