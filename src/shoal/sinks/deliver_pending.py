"""Delivers what the sinks of a job have not got yet, with one try for each sink."""

from __future__ import annotations

import time
from collections.abc import Mapping

from shoal.errors import Unavailable, UsageError
from shoal.sinks.run_sinks import make_delivery, note_sink_fault
from shoal.sinks.sink_delivery import Step
from shoal.store.crawl.sink_state import SinkStatus, sink_statuses
from shoal.store.jobs import Job
from shoal.store.store import Store


def deliver_pending(store: Store, job: Job, secrets: Mapping[str, str]) -> SinkStatus | None:
    """No other process may work on the job. Returns the first sink that is still behind."""
    for place in range(len(job.spec.sinks)):
        try:
            delivery = make_delivery(store, job, place, secrets, alone=True)
            try:
                while delivery.step(ends=True) is Step.DELIVERED:
                    pass
            finally:
                delivery.close()
        except (Unavailable, UsageError) as error:
            note_sink_fault(store, job, place, error, isinstance(error, UsageError))
    return next((one for one in sink_statuses(store, job.id, time.time()) if one.behind), None)
