"""Many URLs in one POST, against a Celery task for each, sent to the same Redis in turns."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from benchmarks.api.served import Cores, await_found, served, somewhere
from benchmarks.contenders import fresh
from benchmarks.frontier_rivals import apply_each
from benchmarks.measure import CannotMeasure
from shoal.client import Client


@dataclass(frozen=True, slots=True)
class Posted:
    answered_s: float
    """Until the job is stored with all URLs, each once."""
    seeded_s: float
    """Until all of them can be leased."""


@dataclass(frozen=True, slots=True)
class Submitting:
    urls: int
    posted: list[Posted]
    applied_s: list[float]
    """In rounds with the former."""


def submitting(cores: Cores, urls: int, rounds: int) -> Submitting:
    given = list(somewhere(urls))
    posted, applied_s = list[Posted](), list[float]()
    with fresh() as scratch, served(scratch, cores) as ours, ours.client() as client:
        # What only the first call pays, on either side.
        _post(client, given[:10])
        apply_each(ours.fleet.redis, given[:10])
        for _ in range(rounds):
            posted.append(_post(client, given))
            applied_s.append(apply_each(ours.fleet.redis, given))
            print(f"api: {posted[-1].answered_s:.3f} s, tasks {applied_s[-1]:.3f} s", file=sys.stderr)
    return Submitting(urls, posted, applied_s)


def _post(client: Client, urls: list[str]) -> Posted:
    began = time.monotonic()
    told = client.submit(urls)
    answered_s = time.monotonic() - began
    if told["accepted"] != len(urls):
        raise CannotMeasure(f"{told['accepted']:,} URLs were accepted instead of {len(urls):,}")
    await_found(client, told["id"], len(urls))
    return Posted(answered_s, time.monotonic() - began)
