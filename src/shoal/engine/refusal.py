"""Requests that end without being fetched: given up, excluded by the operator, or refused by robots.txt."""

from __future__ import annotations

from shoal.engine import ending
from shoal.engine.ending import Ending
from shoal.engine.permission import MAX_CRAWL_DELAY_S, Permission, Say, failure_of
from shoal.engine.policy import MAX_CRASHES, retry_wait_s
from shoal.engine.work import SITEMAP, Work
from shoal.fetch.robots import RobotsFile
from shoal.model import Landing, Lease, Target, Trail
from shoal.urls import Scope

NOT_SOONER_S = 0.1
"""Between clocks: a moment too soon, and the attempt would be spent on the answer that is known."""
UNWANTED = {
    "excluded": "the job's patterns were changed and no longer want it",
    "off_scope": "the job's scope was changed and no longer covers it",
}


def before_robots(lease: Lease, work: Work) -> Ending | None:
    """What ends a request before its host is asked for anything."""
    if lease.malformed:
        return ending.dead(lease, "malformed", None, "what was queued for it could not be read")
    if lease.unreachable:
        return ending.dead(lease, "unreachable", None, f"{lease.target.host} never answered")
    if lease.crashes >= MAX_CRASHES:
        return ending.dead(lease, "poison", None, f"its page ended the process {lease.crashes} times")
    if line := work.exclusions.line_for(lease.target.url):
        return ending.drop(lease, "operator", f"the operator excludes {line}", started=False)
    if work.is_changed and (reason := unwanted(work.scope, lease.target, lease.trail)):
        return ending.drop(lease, reason, UNWANTED[reason], started=False)
    return None


def unwanted(scope: Scope, target: Target, trail: Trail) -> str | None:
    """Why what was queued before its job was changed does not belong to it any more.

    What was given to the job always does, wherever it has moved to, and so do its sitemaps.
    """
    if trail.callback == SITEMAP:
        return None
    reason = scope.refusal(target.url)
    if reason == "off_scope" and trail.parent is None:
        return "excluded" if scope.excludes(target.url) else None
    return reason


def if_forbidden(lease: Lease, permission: Permission | None) -> Ending | None:
    if permission is None or permission.robots is None or permission.say is not Say.FORBIDDEN:
        return None
    return ending.drop(lease, "robots", why_forbidden(permission.robots), started=False)


def by_robots(lease: Lease, work: Work, permission: Permission) -> Ending | None:
    """None if the page may be fetched now."""
    robots = permission.robots
    if robots is None or permission.say is Say.GO:
        return None
    if forbidden := if_forbidden(lease, permission):
        return forbidden
    kind, status, detail = failure_of(robots)
    if kind == "address_refused":
        return ending.drop(lease, kind, detail, started=permission.asked)
    if lease.attempt < work.spec.retries:
        # By then robots.txt is asked for anew: each attempt is one more answer to that question. The first waits are
        # longer for it, and all of them grow a step later, so that together they take as long as any.
        wait_s = max(retry_wait_s(max(0, lease.attempt - 1)), permission.wait_s + NOT_SOONER_S)
        end = ending.retry(lease, kind, status, wait_s, permission.asked)
    else:
        end = ending.dead(lease, kind, status, detail)
    end.why = detail
    return end


def why_forbidden(robots: RobotsFile) -> str:
    delay_s = robots.rules.crawl_delay_s
    if delay_s > MAX_CRAWL_DELAY_S:
        asked = f"{delay_s:,.0f} s" if delay_s < 1e9 else "for ever"
        return f"robots.txt asks to wait {asked} between requests: more than {MAX_CRAWL_DELAY_S:g} s means to stay away"
    return "robots.txt does not allow it"


def robots_landing(lease: Lease, robots: RobotsFile) -> Landing:
    """What a host's clock learns from a robots.txt that could not be had."""
    failure = robots.failure.kind.value if robots.failure else None
    latency_s = robots.failure.latency_s if robots.failure else 0.0
    return Landing(lease.token, latency_s, robots.status, failure, robots.retry_after_s)
