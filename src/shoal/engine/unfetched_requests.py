"""Requests that end without a fetch: given up, excluded by the operator, or refused by robots.txt."""

from __future__ import annotations

from shoal.engine import request_result
from shoal.engine.active_job import SITEMAP, ActiveJob
from shoal.engine.reading.crash_marker import MAX_CRASHES
from shoal.engine.reading.retry_policy import HOPELESS, retry_wait_s
from shoal.engine.request_result import RequestResult
from shoal.engine.robots.check import MAX_CRAWL_DELAY_S, Access, RobotsDecision, failure_of
from shoal.engine.shape_statistics import LAST_OF_ALL, ONE_OF_THE_LAST, Doubt, is_sample
from shoal.fetch.robots import RobotsFile
from shoal.model import Lease, Target, Trail
from shoal.urls import Scope
from shoal.urls.url_shapes import BRINGS_NOTHING, SHAPE

OTHERS_END_S = 5.0
"""Most pages that other processes of a fleet are fetching are read within this time."""
NOT_SOONER_S = 0.1
"""A margin between clocks: a moment too early, and the attempt would be spent on the failure that is already known."""
UNWANTED = {
    "excluded": "the job's patterns were changed and no longer include it",
    "off_scope": "the job's scope was changed and no longer covers it",
}


def before_robots(lease: Lease, active_job: ActiveJob) -> RequestResult | None:
    """Ends a request before anything is sent to its host, if there is a reason."""
    if lease.malformed:
        return request_result.dead(lease, "malformed", None, "the queued request could not be read")
    if lease.unreachable:
        return request_result.dead(lease, "unreachable", None, f"{lease.target.host} never answered")
    if lease.crashes >= MAX_CRASHES:
        return request_result.dead(lease, "poison", None, "reading its page crashes the process")
    if line := active_job.exclusions.line_for(lease.target.url):
        return request_result.drop(lease, "operator", f"the operator excludes {line}", started=False)
    if active_job.is_changed and (reason := unwanted(active_job.scope, lease.target, lease.trail)):
        return request_result.drop(lease, reason, UNWANTED[reason], started=False)
    if why := _lacks_region(lease, active_job):
        return request_result.dead(lease, "region", None, why, started=False)
    return by_shape(lease, active_job)


def _lacks_region(lease: Lease, active_job: ActiveJob) -> str | None:
    region = lease.trail.options.region if lease.trail.options is not None else None
    if not region:
        return None
    if active_job.exits is None:
        return f"the request asks for region {region}, and the job has no proxies: give it some with --proxies"
    return active_job.exits.pool.lacks_region(region)


def by_shape(lease: Lease, active_job: ActiveJob) -> RequestResult | None:
    """Puts a request of a doubtful shape off, so that it comes after all others of its host, and drops one of a useless
    shape. Before any is dropped, the samples among them are fetched. Seeds and what sitemaps list are fetched. One of a
    suspected shape is put off once, and then fetched."""
    trail = lease.trail
    if active_job.shapes is None or trail.depth == 0 or trail.parent is None or trail.callback:
        return None
    doubt, shape = active_job.shapes.verdict(lease.target.host, lease.target.url)
    if doubt is Doubt.NONE:
        return None
    if trail.priority > ONE_OF_THE_LAST:
        return request_result.put_off(lease, ONE_OF_THE_LAST)
    if doubt is Doubt.SUSPECTED or is_sample(lease):
        return None
    if trail.priority > LAST_OF_ALL:
        return request_result.put_off(lease, LAST_OF_ALL, OTHERS_END_S if active_job.keeps_offers else 0.0)
    if doubt is Doubt.USELESS:
        return request_result.drop(lease, SHAPE, shape + BRINGS_NOTHING, started=False)
    return None


def unwanted(scope: Scope, target: Target, trail: Trail) -> str | None:
    """Why a request that was queued before its job changed no longer belongs to the job.

    Seeds always belong to it, wherever they have moved to, and so do its sitemaps and the assets of its pages. In a
    job of listed URLs only a link is deeper than they are; what a listed sitemap names is not.
    """
    if trail.callback == SITEMAP:
        return None
    reason = scope.refusal(target.url)
    is_listed = scope.is_listed and trail.depth == 0
    if reason == "off_scope" and (trail.parent is None or is_listed or trail.is_asset):
        return "excluded" if scope.excludes(target.url) else None
    return reason


def if_forbidden(lease: Lease, decision: RobotsDecision | None) -> RequestResult | None:
    if decision is None or decision.robots is None or decision.access is not Access.FORBIDDEN:
        return None
    return request_result.drop(lease, "robots", why_forbidden(decision.robots), started=False)


def by_robots(lease: Lease, active_job: ActiveJob, decision: RobotsDecision) -> RequestResult | None:
    """None if the page may be fetched now."""
    robots = decision.robots
    if robots is None or decision.access is Access.GO:
        return None
    if forbidden := if_forbidden(lease, decision):
        return forbidden
    kind, status, detail = failure_of(robots)
    if kind == "address_refused":
        return request_result.drop(lease, kind, detail, started=decision.asked)
    if kind in HOPELESS:
        result = request_result.dead(lease, kind, status, detail, started=decision.asked)
    elif lease.attempt < active_job.spec.retries:
        # By then robots.txt is requested again, so each attempt repeats that request. The first waits are longer for
        # this, and all of them grow one step later, so that in total they take as long as any retries.
        wait_s = max(retry_wait_s(max(0, lease.attempt - 1)), decision.wait_s + NOT_SOONER_S)
        result = request_result.retry(lease, kind, status, wait_s, decision.asked)
    else:
        result = request_result.dead(lease, kind, status, detail)
    result.why = detail
    return result


def why_forbidden(robots: RobotsFile) -> str:
    delay_s = robots.rules.crawl_delay_s
    if delay_s > MAX_CRAWL_DELAY_S:
        asked = f"{delay_s:,.0f} s" if delay_s < 1e9 else "for ever"
        return f"robots.txt asks to wait {asked} between requests: more than {MAX_CRAWL_DELAY_S:g} s means to stay away"
    return "robots.txt does not allow it"
