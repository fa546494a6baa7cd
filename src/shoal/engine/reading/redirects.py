"""Decides what becomes of a redirect: its target is offered, refused, or a dead letter."""

from __future__ import annotations

from shoal.engine import request_result
from shoal.engine.active_job import SITEMAP, ActiveJob
from shoal.engine.reading.retry_policy import MAX_HOPS
from shoal.engine.request_result import RequestResult, add_refusal
from shoal.errors import InvalidURL
from shoal.fetch.exchange import Exchange
from shoal.model import (
    Completion,
    Lease,
    Offer,
    Outcome,
    RedirectRecord,
    Render,
    RequestOptions,
    ScopeKind,
    Target,
    Trail,
)
from shoal.model.request_options import identity_of
from shoal.urls import left_out, origin_of


def follow_redirect(active_job: ActiveJob, lease: Lease, answer: Exchange) -> RequestResult:
    here, trail = lease.target, lease.trail
    try:
        there = active_job.target(answer.location or "", identity_of(trail.options))
    except InvalidURL as error:
        return _result(lease, answer, None, error.reason)
    chain = (*trail.chain, here.fingerprint)
    if (
        there.fingerprint == here.fingerprint
        and here.fingerprint not in trail.chain
        and _sets_cookie(active_job, answer)
    ):
        return request_result.again(lease)
    if there.fingerprint in chain:
        return request_result.dead(
            lease, "redirect_loop", answer.status, _loop(active_job, there, answer.location or "")
        )
    if len(chain) > MAX_HOPS:
        return request_result.dead(lease, "too_many_redirects", answer.status, f"more than {MAX_HOPS} hops")
    refusal = _refusal(active_job, there, trail)
    redirected = _result(lease, answer, there, refusal)
    if refusal is None:
        options = trail.options
        if options is not None and not is_same_origin(here.url, there.url):
            options = options.for_another_origin()
        if lease.needs_browser and active_job.render_mode(lease) is Render.AUTO:
            # A script that leads elsewhere leads to another page of its kind.
            options = (options or RequestOptions())._replace(render=Render.ALWAYS)
        redirected.offers.append(Offer(lease.job, [there], trail._replace(chain=chain, options=options)))
    return redirected


def _sets_cookie(active_job: ActiveJob, answer: Exchange) -> bool:
    return active_job.spec.use_cookies and "set-cookie" in answer.headers


def is_same_origin(here: str, there: str) -> bool:
    """A host that moves to https keeps the request's secrets."""
    return origin_of(there) in (origin_of(here), origin_of(here).replace("http://", "https://"))


def _loop(active_job: ActiveJob, there: Target, location: str) -> str:
    """A site that requires a session id in every URL redirects requests without one."""
    missing = ",".join(left_out(location, active_job.params))
    insists = f", but with {missing}, which Shoal removes from URLs: --keep-params {missing} keeps it"
    return f"leads back to {there.url}{insists if missing else ''}"


def _refusal(active_job: ActiveJob, there: Target, trail: Trail) -> str | None:
    refusal = active_job.scope.refusal(there.url)
    if trail.is_asset:
        return "excluded" if active_job.scope.excludes(there.url) else None
    if refusal == "off_scope" and active_job.spec.scope is ScopeKind.LISTED:
        refusal = "excluded" if active_job.scope.excludes(there.url) else None
    is_seed = trail.parent is None and trail.callback != SITEMAP
    if refusal == "off_scope" and is_seed:
        active_job.admit(there.url)
        refusal = active_job.scope.refusal(there.url)
    if refusal or is_seed:
        # A seed is fetched wherever it has moved to, even if the URL looks like a trap.
        return refusal
    trap = active_job.resolver.trap(there.url)
    if trap is not None:
        return trap.reason
    return active_job.resolver.logout(there.url) or active_job.resolver.unwanted_type(there.url)


def _result(lease: Lease, answer: Exchange, there: Target | None, refusal: str | None) -> RequestResult:
    record = RedirectRecord(
        job=lease.job,
        fingerprint=lease.target.fingerprint,
        token=lease.token,
        url=lease.target.url,
        host=lease.target.host,
        status=answer.status,
        depth=lease.trail.depth,
        parent=lease.trail.parent,
        target=there.url if there else (answer.location or ""),
        target_fingerprint=there.fingerprint if there and refusal is None else None,
        reason=refusal,
        fetched_at=answer.started_at,
    )
    redirected = RequestResult(lease, Completion(lease.token, Outcome.REDIRECT), record)
    if refusal:
        add_refusal(redirected, refusal, record.target)
    return redirected
