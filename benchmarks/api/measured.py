"""All that is measured of the API, with the crawl on one core and the API on another."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.api.served import two_cores
from benchmarks.api.status import Status, status
from benchmarks.api.streaming import Streaming, streaming
from benchmarks.api.submitting import Submitting, submitting


@dataclass(frozen=True, slots=True)
class Sizes:
    urls: int
    """In one POST."""
    pages: int
    """Crawled while status is asked for."""
    lines: int
    """Streamed."""


WHOLE = Sizes(10_000, 20_000, 1_000_000)
QUICK = Sizes(1_000, 1_200, 20_000)


@dataclass(frozen=True, slots=True)
class Api:
    submitting: Submitting
    status: Status
    streaming: Streaming


def api(sizes: Sizes, rounds: int) -> Api:
    cores = two_cores()
    return Api(submitting(cores, sizes.urls, rounds), status(cores, sizes.pages, rounds), streaming(cores, sizes.lines))
