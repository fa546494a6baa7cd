"""A run's summary and exit code: what a script needs to know without reading prose."""

from __future__ import annotations

from typing import Any

from shoal.engine.finishing import SPIDER_FAILED
from shoal.jobs.overview import Overview
from shoal.model import JobState

EXIT_DONE = 0
EXIT_FAILURES = 3
EXIT_NOTHING = 4
EXIT_LIMIT = 6
EXIT_BLOCKED = 7
EXIT_INTERRUPTED = 130

BLOCKING = frozenset({"403", "429", "503"})


def summary(overview: Overview) -> dict[str, Any]:
    figures = overview.as_dict()
    seconds = overview.job.seconds
    return {
        "type": "summary",
        "job": figures["id"],
        "name": figures["name"],
        "state": figures["state"],
        "pages": figures["pages"],
        "redirects": figures["redirects"],
        "items": figures["items"],
        "rejected": overview.stored.rejected,
        "dead": figures["dead"],
        "dropped": figures["dropped"],
        "skipped": figures["skipped"],
        "by_status": figures["by_status"],
        "bytes": figures["bytes"],
        "seconds": round(seconds, 3),
        "pages_per_second": round(figures["pages"] / seconds, 2) if seconds else 0.0,
        "hosts": figures["hosts"],
        "traps": figures["traps"],
        "archive_bytes": figures["archive_bytes"],
        "unarchived": figures["unarchived"],
        "changed": overview.stored.changed,
        "unchanged": overview.stored.unchanged,
    }


def exit_code(overview: Overview) -> int:
    spec, figures = overview.job.spec, overview.frontier
    if overview.state is JobState.INTERRUPTED:
        return EXIT_INTERRUPTED
    if overview.state is JobState.CANCELLED:
        return EXIT_DONE
    if is_blocked(overview):
        return EXIT_BLOCKED
    if overview.state is JobState.FAILED:
        return EXIT_FAILURES if figures.pages else EXIT_NOTHING
    if overview.state is JobState.LIMITED and not figures.pages and not figures.redirects:
        return EXIT_NOTHING
    if overview.state is JobState.LIMITED and spec.error_on_limit:
        return EXIT_LIMIT
    return EXIT_DONE


def is_blocked(overview: Overview) -> bool:
    """Every answer was a refusal: nothing of what was asked for was let through."""
    answers = set(overview.stored.by_status)
    answers |= {str(group.status) for group in overview.failures if group.status is not None}
    return bool(answers) and answers <= BLOCKING


def why_nothing(overview: Overview) -> str:
    """Why a crawl came back without a page, and the way out."""
    dropped = overview.frontier.dropped
    if dropped.get("robots") and not overview.failures:
        return "robots.txt refuses every URL given; --ignore-robots overrides it, if you may"
    if dropped.get("operator") and not overview.failures:
        return "the operator excludes every URL given: see the setting exclusions"
    if dropped.get("address_refused"):
        way_out = overview.job.spec.private_way_out
        return f"the addresses are private or reserved and were not contacted; {way_out} lets them be"
    if is_blocked(overview):
        return "every answer was a refusal (403, 429, 503): lower --rate, try later, or ask for access"
    if any(group.kind == "callback" for group in overview.failures):
        return SPIDER_FAILED
    return "no page could be fetched"
