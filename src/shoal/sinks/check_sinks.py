"""Checks the sinks of a new job in this process, before anything is crawled."""

from __future__ import annotations

from collections.abc import Mapping

from shoal.model import JobSpec
from shoal.sinks.open_sink import open_sink
from shoal.sinks.provenance import types_with_provenance
from shoal.spiders.item_schema import declared_items, type_of
from shoal.spiders.spider import Spider
from shoal.store.crawl.sink_state import SinkKey


def check_sinks(job: str, spec: JobSpec, secrets: Mapping[str, str], spider: Spider | None) -> None:
    """Connects to every sink and prepares it for the items of the spider. Raises UsageError and Unavailable."""
    types = [type_of(cls) for cls in declared_items(spider)] if spider is not None else []
    if spec.provenance:
        types = types_with_provenance(types)
    for place, text in enumerate(spec.sinks):
        destination = open_sink(SinkKey(job, place), text, secrets)
        try:
            destination.prepare(types)
        finally:
            destination.close()
