"""A run's summary and exit code, for scripts."""

from __future__ import annotations

import re
from typing import Any

from shoal.engine.job_finish import SPIDER_FAILED
from shoal.jobs.job_overview import Overview
from shoal.jobs.no_items import is_blocked
from shoal.model import JobState
from shoal.store.results.job_figures import Failures

EXIT_DONE = 0
EXIT_FAILURES = 3
EXIT_NOTHING = 4
EXIT_UNAVAILABLE = 5
EXIT_LIMIT = 6
EXIT_BLOCKED = 7
EXIT_INTERRUPTED = 130
_PORT = re.compile(r":\d+\Z")
_SPEAKS_TLS = frozenset({"certificate", "client_certificate"})
"""Failures of hosts that certainly do not speak plain http."""


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
        "rejected": figures["rejected_items"],
        "dropped_items": figures["dropped_items"],
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
        "no_items": figures["no_items"],
        "unmatched": figures["unmatched"],
        "on_finish_error": figures["on_finish_error"],
        "nofollow_starts": figures["nofollow_starts"],
        "sinks": figures["sinks"],
        "merged": figures["merged"],
        "changes": overview.stored.changes,
        "shapes": figures["shapes"],
        "rendered": figures["rendered"],
        "assets": figures["assets"],
        "cost": figures["cost"],
    }


def exit_code(overview: Overview) -> int:
    spec, figures = overview.job.spec, overview.frontier
    if overview.state is JobState.INTERRUPTED:
        return EXIT_INTERRUPTED
    if overview.state is JobState.CANCELLED:
        return EXIT_DONE
    if is_blocked(overview.stored):
        return EXIT_BLOCKED
    if overview.state is JobState.FAILED:
        return EXIT_FAILURES if figures.pages else EXIT_NOTHING
    if overview.state is JobState.LIMITED and not figures.pages and not figures.redirects:
        return EXIT_NOTHING
    if overview.no_items is not None:
        return EXIT_FAILURES
    if overview.state is JobState.LIMITED and spec.error_on_limit:
        return EXIT_LIMIT
    if any(sink.behind and sink.stuck for sink in overview.sinks):
        return EXIT_UNAVAILABLE
    # A crawl waits for its sinks, unless somebody interrupts it.
    return EXIT_INTERRUPTED if overview.sinks_behind else EXIT_DONE


def why_nothing(overview: Overview) -> str:
    """Why a crawl got no page, and the way out."""
    dropped = overview.frontier.dropped
    if (overview.job.reason or "").startswith("on_start failed"):
        return overview.job.reason or ""
    if dropped.get("robots") and not overview.failures:
        return "robots.txt refuses every URL; --ignore-robots overrides it, if you have permission"
    if dropped.get("operator") and not overview.failures:
        return "the operator excludes every URL: see the setting exclusions"
    if dropped.get("address_refused"):
        way_out = overview.job.spec.private_way_out
        return f"the addresses are private or reserved and were not contacted; {way_out} permits them"
    if is_blocked(overview.stored):
        return "every response was a refusal (403, 429, 503): lower --rate, try later, or ask for access"
    if any(group.kind == "callback" for group in overview.failures):
        return SPIDER_FAILED
    return f"no page could be fetched{_other_scheme(overview.failures)}"


def _other_scheme(failures: list[Failures]) -> str:
    """Servers at an unusual port often speak plain http, and without a scheme `https` is assumed."""
    doubtful = (one for one in failures if one.kind not in _SPEAKS_TLS)
    asked = (one.host for one in doubtful if _PORT.search(one.host) and (one.sample or "").startswith("https://"))
    host = next(asked, None)
    return f"; if {host} speaks plain http, write http://{host}/" if host else ""
