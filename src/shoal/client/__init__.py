"""The API from Python: submit, append, follow, read, export and steer jobs, and run the fleet, without knowing HTTP.

    from shoal.client import Client

    with Client("http://127.0.0.1:8000", token) as shoal:
        job = shoal.submit(["https://example.com/"], scope="host", limits={"pages": 100})
        shoal.wait(job["id"], timeout_s=600)
        for page in shoal.pages(job["id"]):
            print(page["url"], page["status"])

A call that is answered with 429 or 503, or not at all, is tried again for a while where that cannot do harm: what is
read, and what carries an Idempotency-Key: submit, append, retry, scrape, add_schedule and run_schedule. One client is
for one thread.
"""

from __future__ import annotations

from shoal.client.data import DataCalls
from shoal.client.fleet import FleetCalls
from shoal.client.jobs import BATCH, JobCalls
from shoal.client.told import (
    Appended,
    Exclusions,
    Explained,
    Host,
    Job,
    Letter,
    Page,
    Rejected,
    Schedule,
    Scraped,
    Stats,
    StillScraping,
    Submitted,
    Token,
    Worker,
)


class Client(JobCalls, DataCalls, FleetCalls):
    """Each call is one of the API, or as many as its answer has parts."""


__all__ = [
    "BATCH",
    "Appended",
    "Client",
    "Exclusions",
    "Explained",
    "Host",
    "Job",
    "Letter",
    "Page",
    "Rejected",
    "Schedule",
    "Scraped",
    "Stats",
    "StillScraping",
    "Submitted",
    "Token",
    "Worker",
]
