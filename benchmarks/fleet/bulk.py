"""A million URLs submitted at once: what that takes of the submitting process, of tend and of Redis.

Nobody works on them.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from benchmarks.contenders import fresh
from benchmarks.fleet.ours import Fleet, fleet
from benchmarks.measure import LIMIT_S, CannotMeasure

URLS = 1_000_000
HOSTS = 1_000
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Submitting:
    seconds: float
    cpu_s: float
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Bulk:
    urls: int
    submitting: Submitting
    seeding_s: float
    """Until tend has put all into the frontier."""
    tend_peak_bytes: int
    redis_bytes: float
    """Per URL, when all are queued."""


def bulk(urls: int) -> Bulk:
    with fresh() as scratch, fleet(scratch) as ours:
        listed = ours.listed("bulk", (f"http://site-{n % HOSTS}.example/article/{n}.html" for n in range(urls)))
        job, submitting = _submit(ours, listed, urls)
        empty_bytes, began = ours.redis.used_bytes(), time.monotonic()
        tend = ours.start(["tend"])
        ours.wait_until_found(job, urls)
        seeding_s = time.monotonic() - began
        redis_bytes = (ours.redis.used_bytes() - empty_bytes) / urls
        return Bulk(urls, submitting, seeding_s, tend.peak_bytes(), redis_bytes)


def _submit(ours: Fleet, listed: str, urls: int) -> tuple[str, Submitting]:
    began, peak_bytes, cpu_s = time.monotonic(), 0, 0.0
    submit = ours.start([*ours.submission(listed), "--json", "--quiet"])
    while submit.running():
        if time.monotonic() - began > LIMIT_S:
            raise CannotMeasure(f"{urls:,} URLs were not submitted within {LIMIT_S:.0f} s")
        peak_bytes, cpu_s = max(peak_bytes, submit.peak_bytes()), max(cpu_s, submit.cpu_s())
        time.sleep(POLL_S)
    seconds = time.monotonic() - began
    submit.must_have_succeeded()
    told = json.loads(submit.output().splitlines()[-1])
    if told["accepted"] != urls:
        raise CannotMeasure(f"{told['accepted']:,} URLs were accepted instead of {urls:,}")
    return str(told["id"]), Submitting(seconds, cpu_s, peak_bytes)
