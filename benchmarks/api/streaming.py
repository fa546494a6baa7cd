"""A long list streamed to a job while tend offers what has come: the memory of the API, looked at all the while."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

from benchmarks.api.served import Cores, await_found, served, somewhere
from benchmarks.contenders import fresh
from benchmarks.measure import CannotMeasure

LINES_AT_ONCE = 1_000
LOOK_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Streaming:
    lines: int
    answered_s: float
    """Until all are stored."""
    seeded_s: float
    """Until all can be leased, from the same moment."""
    before_bytes: int
    peak_bytes: int
    """Of the API's processes together; what they share is counted once."""


def streaming(cores: Cores, lines: int) -> Streaming:
    with fresh() as scratch, served(scratch, cores) as ours, ours.client() as client, ThreadPoolExecutor(1) as pool:
        job = client.submit(["http://first.example/"])["id"]
        before_bytes = peak_bytes = ours.api.memory_bytes()
        began = time.monotonic()
        sending = pool.submit(client.append_lines, job, _sent(lines))
        while not sending.done():
            peak_bytes = max(peak_bytes, ours.api.memory_bytes())
            time.sleep(LOOK_EVERY_S)
        told, answered_s = sending.result(), time.monotonic() - began
        if told["accepted"] != lines:
            raise CannotMeasure(f"{told['accepted']:,} lines were accepted instead of {lines:,}")
        await_found(client, job, lines + 1)
        return Streaming(lines, answered_s, time.monotonic() - began, before_bytes, peak_bytes)


def _sent(lines: int) -> Iterator[bytes]:
    urls = somewhere(lines)
    while some := list(islice(urls, LINES_AT_ONCE)):
        yield "".join(f"{url}\n" for url in some).encode()
