"""Explains what happened to a URL in a job, or what would happen, from the store and the frontier."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import select

from shoal.engine.job_start import scope_of
from shoal.engine.reading.retry_policy import MAX_HOPS
from shoal.engine.robots.check import MAX_CRAWL_DELAY_S
from shoal.errors import FrontierLost, InvalidURL
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.robots import RobotsFile
from shoal.jobs.deployment import Deployment
from shoal.model import DeadLetter, Drop, Input, JobSpec, JobState, PageRecord, RedirectRecord, Target, fingerprint_hex
from shoal.spiders.input_sources import read_sources
from shoal.spiders.url_lists import bare
from shoal.store.crawl.inputs import inputs_of
from shoal.store.crawl.robots_files import load_robots
from shoal.store.jobs import Job
from shoal.store.results.columns import iso_time
from shoal.store.results.job_figures import trap_figures
from shoal.store.results.listings import find_outcome, find_outcome_by_url, redirects_to
from shoal.store.store import Store
from shoal.store.tables import inputs
from shoal.urls import Exclusions, Params, Traps, origin_of
from shoal.urls.file_types import REASON as FILE_TYPE
from shoal.urls.file_types import FileTypes
from shoal.urls.file_types import allowing as wants
from shoal.urls.logout_links import REASON as LOGOUT
from shoal.urls.logout_links import is_logout
from shoal.urls.traps import PREFIX, Trap, allowing
from shoal.urls.traps.query_combinations import likely_query_trap
from shoal.urls.traps.subdomains import likely_subdomain_trap
from shoal.urls.url_patterns import compiled
from shoal.urls.url_shapes import BRINGS_NOTHING, SHAPE
from shoal.urls.url_shapes import allowing as allowing_shape

PENDING = ("queued", "waiting", "leased")
REDIRECTS_SHOWN = 10

Record = PageRecord | RedirectRecord | DeadLetter | Drop
_OUTCOMES: dict[type[Record], str] = {
    PageRecord: "page",
    RedirectRecord: "redirect",
    DeadLetter: "dead",
    Drop: "dropped",
}


class Verdict(NamedTuple):
    outcome: str
    """`page`, `redirect`, `dead`, `dropped`: it has ended. `queued`, `waiting` (for a retry), `leased`: it will end.
    `rejected`: an invalid input. `skipped`: links to it are not offered. `unknown`: the job never found it."""
    reason: str | None = None
    """Why; for an unknown URL, why it would be dropped."""
    rule: str | None = None
    """The setting of the job or the host that decided it; for a pending request, what it waits for."""
    detail: str | None = None
    """For a trap: what in the URL broke the rule, and the limit."""
    allow: str | None = None
    """The option that lets the crawl follow it."""


@dataclass(frozen=True, slots=True)
class Explanation:
    spelt: str
    """As the user wrote it, without credentials."""
    target: Target | None
    """None: it is not a URL that can be fetched."""
    verdict: Verdict
    given: Sequence[Input] = ()
    """The job's inputs for this URL."""
    record: Record | None = None
    parent: str | None = None
    """The page on which it was first found."""
    redirected_from: Sequence[RedirectRecord] = ()
    hops: Sequence[Record] = ()
    """For a redirect: the outcomes of the requests that it leads to, in order."""

    merged_into: str | None = None
    """The page that represents it."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "url": self.spelt,
            "canonical": self.target.url if self.target else None,
            "fingerprint": fingerprint_hex(self.target.fingerprint) if self.target else None,
            **self.verdict._asdict(),
            "inputs": [one.line for one in self.given],
            "parent": self.parent,
            "redirected_from": [record.url for record in self.redirected_from],
            **(_facts(self.record) if self.record else {}),
            **({"merged_into": self.merged_into} if self.merged_into else {}),
            **({"final_url": self.hops[-1].url} if self.hops else {}),
        }


async def explain(place: Deployment, job: Job, url: str, exclusions: Exclusions) -> Explanation:
    """Raises InvalidURL for text that is not a URL, unless it is one of the job's inputs."""
    query = _as_given(url, job.spec)
    if query.target is None:
        return _of_no_request(place.store, job, query)
    request = query.target
    # In this order: a request is stored before its lease ends, so at least one of the two knows it.
    where = await _whereabouts(place, job, request)
    record = find_outcome(place.store, job.id, request.fingerprint)
    given = inputs_of(place.store, job.id, request.fingerprint)
    if record is not None:
        return _with_outcome(place.store, job, query.spelt, given, request, record)
    if where in PENDING:
        return Explanation(query.spelt, request, Verdict(where, rule=await _why_pending(place, job)), given)
    if given:
        # An input that has not been offered to the frontier yet.
        return Explanation(query.spelt, request, Verdict("queued", rule=await _why_pending(place, job)), given)
    if job.spec.scrapy is not None:
        return _of_scrapy(place.store, job, query.spelt, request)
    if job.spec.spider is not None and (record := find_outcome_by_url(place.store, job.id, [request.url])):
        # The page of a session, or of a region, has a fingerprint of its own.
        return _with_outcome(place.store, job, query.spelt, given, request, record)
    verdict = _rejection(place.store, job.id, query.spelt) or _forecast(place.store, job, request.url, exclusions)
    return Explanation(query.spelt, request, verdict)


def _of_scrapy(store: Store, job: Job, spelt: str, request: Target) -> Explanation:
    """A request that Scrapy did not filter has a fingerprint of its own."""
    record = find_outcome_by_url(store, job.id, [spelt, request.url])
    if record is not None:
        return _with_outcome(store, job, spelt, (), request, record)
    return Explanation(spelt, request, Verdict("unknown", rule="no callback of the spider has yielded it so far"))


async def _whereabouts(place: Deployment, job: Job, request: Target) -> str | None:
    if not job.started_at:
        return None
    try:
        return await place.frontier.request_state(job.id, request.fingerprint, request.host)
    except FrontierLost:
        # Then only the store knows about it.
        return None


def _as_given(url: str, spec: JobSpec) -> Input:
    """Reads the URL like a line of a list, so that it means the same."""
    if bare(url)[:1] in ("", "#"):
        raise InvalidURL(url, "malformed")
    line = io.BytesIO(url.encode("utf-8", "surrogateescape"))
    params = Params.of(spec)
    return next(read_sources(["-"], params, spec.politeness.group, None, line).inputs)


async def _why_pending(place: Deployment, job: Job) -> str | None:
    status = await place.job_status(job)
    if status.state in (JobState.RUNNING, JobState.WAITING):
        return status.limiting
    return f"the job is {status.state}" + (f": {job.reason}" if job.reason else "")


def _of_no_request(store: Store, job: Job, query: Input) -> Explanation:
    verdict = _rejection(store, job.id, query.spelt)
    if verdict is None and query.reason == "malformed":
        raise InvalidURL(query.spelt, "malformed")
    return Explanation(query.spelt, None, verdict or Verdict("skipped", query.reason))


def _with_outcome(
    store: Store, job: Job, spelt: str, given: Sequence[Input], request: Target, record: Record
) -> Explanation:
    parent = None if record.parent is None else find_outcome(store, record.job, record.parent)
    return Explanation(
        spelt,
        request,
        _ended(store, job, record),
        given,
        record,
        parent=parent.url if parent else None,
        redirected_from=redirects_to(store, record.job, request.fingerprint, REDIRECTS_SHOWN),
        hops=list(_hops(store, record)),
        merged_into=_representative(store, record),
    )


def _representative(store: Store, record: Record) -> str | None:
    if not isinstance(record, PageRecord) or record.merged_into is None:
        return None
    found = find_outcome(store, record.job, record.merged_into)
    return found.url if found else None


def _ended(store: Store, job: Job, record: Record) -> Verdict:
    outcome = _OUTCOMES[type(record)]
    reason = None if isinstance(record, PageRecord) else record.reason
    if isinstance(record, RedirectRecord) and reason and reason.startswith(PREFIX):
        return _of_trap(outcome, _trap(store, job, record.target) or Trap(reason.removeprefix(PREFIX), ""))
    if isinstance(record, Drop) and reason == SHAPE:
        shape = record.detail.removesuffix(BRINGS_NOTHING)
        return Verdict(outcome, reason, shape, record.detail, allowing_shape(shape))
    return Verdict(outcome, reason)


def _of_trap(outcome: str, trap: Trap) -> Verdict:
    return Verdict(outcome, "trap", trap.reason, trap.why, allowing(trap.rule))


def _trap(store: Store, job: Job, url: str) -> Trap | None:
    if pure := Traps(job.spec.allow_traps, job.created_at).of(url):
        return pure
    # Only the process knew which ones came first; but the store knows samples of those that were too many.
    samples = {trap.rule: trap.samples for trap in trap_figures(store, job.id)}
    for rule, like_others in {"queries": likely_query_trap, "subdomains": likely_subdomain_trap}.items():
        if why := like_others(url, samples.get(rule, ())):
            return Trap(rule, why)
    return None


def _hops(store: Store, record: Record) -> Iterator[Record]:
    here: Record | None = record
    for _ in range(MAX_HOPS):
        if not isinstance(here, RedirectRecord) or here.target_fingerprint is None:
            return
        here = find_outcome(store, record.job, here.target_fingerprint)
        if here is None:
            return
        yield here


def _rejection(store: Store, job: str, spelt: str) -> Verdict | None:
    refused = inputs.c.job == job, inputs.c.spelt == spelt, inputs.c.fingerprint.is_(None)
    with store.read() as db:
        row = db.execute(select(inputs.c.line, inputs.c.reason).where(*refused).limit(1)).one_or_none()
    return Verdict("rejected", row.reason, f"line {row.line} of the input") if row else None


def _forecast(store: Store, job: Job, url: str, exclusions: Exclusions) -> Verdict:
    """Predicts what would happen to a link to this URL."""
    spec = job.spec
    refusal = scope_of(store, job, spec).refusal(url)
    if refusal == "excluded":
        return Verdict("skipped", refusal, _pattern(spec, url))
    if refusal is not None:
        return Verdict("skipped", refusal, f"--scope {spec.scope}")
    if spec.is_logged_in and is_logout(url):
        return Verdict("skipped", LOGOUT, "the job was given cookies or credentials")
    if trap := _trap(store, job, url):
        return _of_trap("skipped", trap)
    if name := FileTypes(spec.types, spec.spider is not None or spec.rules is not None).refused_by_url(url):
        chosen = f"--types {','.join(spec.types)}" if spec.types else None
        return Verdict("skipped", FILE_TYPE, chosen, name, wants(name))
    if not AddressGuard(spec.allow_private).allows_target(url):
        return Verdict("unknown", "address_refused", f"its address is private ({spec.private_way_out})")
    if line := exclusions.line_for(url):
        return Verdict("unknown", "operator", f"the operator excludes {line}")
    return _forecast_by_robots(store, spec, url)


def _pattern(spec: JobSpec, url: str) -> str:
    for pattern in spec.exclude:
        if compiled(pattern, "exclude")(url):
            return f"--exclude {pattern}"
    return " ".join(f"--include {pattern}" for pattern in spec.include)


def _forecast_by_robots(store: Store, spec: JobSpec, url: str) -> Verdict:
    if not spec.politeness.robots:
        return Verdict("unknown", None, "robots.txt is ignored (--ignore-robots)")
    origin = origin_of(url)
    known = load_robots(store, origin)
    if known is None:
        return Verdict("unknown", None, f"{origin}/robots.txt has not been fetched yet")
    robots = RobotsFile(origin, spec.user_agent, known.status, known.body, known.fetched_at)
    source = f"{origin}/robots.txt of {iso_time(known.fetched_at)}"
    delay_s = robots.rules.crawl_delay_s
    if delay_s > MAX_CRAWL_DELAY_S:
        return Verdict("unknown", "robots", f"{source} asks for {delay_s:.0f} s between requests")
    if not robots.rules.allows(url):
        return Verdict("unknown", "robots", f"refused by {source}")
    return Verdict("unknown", None, f"allowed by {source}")


def _facts(record: Record) -> dict[str, Any]:
    facts: dict[str, Any] = {"depth": record.depth}
    match record:
        case PageRecord():
            facts |= {"status": record.status, "attempts": record.attempts, "duration_ms": record.duration_ms}
            facts |= {"bytes": record.bytes, "content_type": record.content_type, "title": record.title}
            facts |= {"rel_canonical": record.canonical, "noindex": record.noindex, "nofollow": record.nofollow}
            facts |= {"fetched_at": iso_time(record.fetched_at), "archive": record.archive, "via": record.via}
            facts |= {"session": record.session, "is_asset": record.is_asset}
        case RedirectRecord():
            facts |= {"status": record.status, "target": record.target, "fetched_at": iso_time(record.fetched_at)}
        case DeadLetter():
            facts |= {"status": record.status, "attempts": record.attempts, "detail": record.detail}
            facts |= {"died_at": iso_time(record.died_at)}
        case Drop():
            facts |= {"detail": record.detail, "dropped_at": iso_time(record.dropped_at)}
    return facts
