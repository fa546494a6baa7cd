"""The nouns that travel between rooms: jobs, requests, and the records of what was found.

A fingerprint is a signed 64-bit integer inside (SQLite, PostgreSQL and Redis intsets all hold it as is) and
16 hex digits wherever a person or a program outside reads it.
"""

from shoal.model.job import (
    ENDED,
    MOST_NOFOLLOW_PAGES,
    NEWEST,
    PACKAGE,
    HostPoliteness,
    Input,
    JobSpec,
    JobState,
    Limits,
    Politeness,
    RenderOptions,
    Requester,
    ScrapyRun,
    Webhook,
    reached,
    reached_limit,
    without_port,
)
from shoal.model.options import Canonical, Lane, ScopeKind
from shoal.model.record import (
    DeadLetter,
    Drop,
    FoundContent,
    ItemRecord,
    ItemType,
    Packed,
    PageContent,
    PageRecord,
    RedirectRecord,
    RejectRecord,
)
from shoal.model.rendering import Render
from shoal.model.request import (
    ASSET,
    LAST,
    MILLION,
    Completion,
    Figures,
    Landing,
    Lease,
    Offer,
    Outcome,
    Target,
    Trail,
)
from shoal.model.request_options import RequestOptions


def fingerprint_hex(fingerprint: int) -> str:
    return f"{fingerprint & 0xFFFF_FFFF_FFFF_FFFF:016x}"


__all__ = [
    "ASSET",
    "ENDED",
    "LAST",
    "MILLION",
    "MOST_NOFOLLOW_PAGES",
    "NEWEST",
    "PACKAGE",
    "Canonical",
    "Completion",
    "DeadLetter",
    "Drop",
    "Figures",
    "FoundContent",
    "HostPoliteness",
    "Input",
    "ItemRecord",
    "ItemType",
    "JobSpec",
    "JobState",
    "Landing",
    "Lane",
    "Lease",
    "Limits",
    "Offer",
    "Outcome",
    "Packed",
    "PageContent",
    "PageRecord",
    "Politeness",
    "RedirectRecord",
    "RejectRecord",
    "Render",
    "RenderOptions",
    "RequestOptions",
    "Requester",
    "ScopeKind",
    "ScrapyRun",
    "Target",
    "Trail",
    "Webhook",
    "fingerprint_hex",
    "reached",
    "reached_limit",
    "without_port",
]
