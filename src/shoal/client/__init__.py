"""A Python client for the API: submit, watch, read, export and control jobs, and administer the fleet.

    from shoal.client import Client

    with Client("http://127.0.0.1:8000", token) as shoal:
        job = shoal.submit(["https://example.com/"], scope="host", max_pages=100)
        shoal.wait(job["id"], timeout_s=600)
        for page in shoal.pages(job["id"]):
            print(page["url"], page["status"])

The client retries a call that gets 429, 503 or no answer for a while, if that is safe: reads, and calls with an
Idempotency-Key (submit, append, retry, scrape, add_schedule and run_schedule). Use each client in one thread only.
"""

from __future__ import annotations

from shoal.client.data_calls import DataCalls
from shoal.client.fleet_calls import FleetCalls
from shoal.client.job_calls import BATCH, JobCalls
from shoal.client.responses.data import Explained, FailureTrend, Letter, LetterGroup, Page
from shoal.client.responses.fleet import Exclusions, Host, Schedule, Stats, Token, Worker
from shoal.client.responses.jobs import Appended, Changed, Job, Rejected, Scraped, StillScraping, Submitted


class Client(JobCalls, DataCalls, FleetCalls):
    """Each method makes one API call, or several if the listing has several parts."""


__all__ = [
    "BATCH",
    "Appended",
    "Changed",
    "Client",
    "Exclusions",
    "Explained",
    "FailureTrend",
    "Host",
    "Job",
    "Letter",
    "LetterGroup",
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
