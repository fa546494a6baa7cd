"""What happened to a URL in a job, or what would if it were found: the facts, from the store and the frontier."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import select

from shoal.engine.beginning import scope_of
from shoal.engine.permission import MAX_CRAWL_DELAY_S
from shoal.engine.policy import MAX_HOPS
from shoal.errors import FrontierLost, InvalidURL
from shoal.fetch.guard import Guard
from shoal.fetch.robots import RobotsFile
from shoal.jobs.place import Place
from shoal.model import DeadLetter, Drop, Input, JobSpec, JobState, PageRecord, RedirectRecord, Target, fingerprint_hex
from shoal.spiders.lists import bare
from shoal.spiders.sources import read_sources
from shoal.store.columns import iso_time
from shoal.store.figures import trapped
from shoal.store.inputs import inputs_of
from shoal.store.jobs import Job
from shoal.store.records import ending, redirects_to
from shoal.store.remembered import load_robots
from shoal.store.store import Store
from shoal.store.tables import inputs
from shoal.urls import Exclusions, Params, Traps, origin_of
from shoal.urls.patterns import compiled
from shoal.urls.traps import PREFIX, Trap, allowing
from shoal.urls.traps.queries import fellow_queries
from shoal.urls.traps.subdomains import fellow_subdomain

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
    """`page`, `redirect`, `dead`, `dropped`: so it ended. `queued`, `waiting` (for a retry), `leased`: it will end.
    `rejected`: an input that was not taken. `skipped`: links to it are not offered. `unknown`: nothing led to it."""
    reason: str | None = None
    """Why; of an unknown URL, why it would be dropped."""
    rule: str | None = None
    """What in the job or at its host says so; of a pending request, what it waits for."""
    detail: str | None = None
    """Of a trap: what in the URL broke the rule, and the limit."""
    allow: str | None = None
    """The option that has it followed."""


@dataclass(frozen=True, slots=True)
class Explanation:
    spelt: str
    """As it was asked for, without credentials."""
    target: Target | None
    """None: it is no URL that can be fetched."""
    verdict: Verdict
    given: Sequence[Input] = ()
    """The job's inputs that stand for it."""
    record: Record | None = None
    parent: str | None = None
    """The page it was first found on."""
    redirected_from: Sequence[RedirectRecord] = ()
    hops: Sequence[Record] = ()
    """Of a redirect: how the requests that it leads to ended, one after the other."""

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
            **({"final_url": self.hops[-1].url} if self.hops else {}),
        }


async def explain(place: Place, job: Job, url: str, exclusions: Exclusions) -> Explanation:
    """Raises InvalidURL for text that is no URL at all, unless it was given to the job."""
    asked = _as_given(url, job.spec)
    if asked.target is None:
        return _of_no_request(place.store, job, asked)
    request = asked.target
    # In this order: a request is stored before its lease ends, so at least one of the two knows it.
    where = await _whereabouts(place, job, request)
    record = ending(place.store, job.id, request.fingerprint)
    given = inputs_of(place.store, job.id, request.fingerprint)
    if record is not None:
        return _of_ending(place.store, job, asked.spelt, given, request, record)
    if where in PENDING:
        return Explanation(asked.spelt, request, Verdict(where, rule=await _holdup(place, job)), given)
    if given:
        # An input that the frontier has not been offered yet.
        return Explanation(asked.spelt, request, Verdict("queued", rule=await _holdup(place, job)), given)
    verdict = _rejection(place.store, job.id, asked.spelt) or _forecast(place.store, job, request.url, exclusions)
    return Explanation(asked.spelt, request, verdict)


async def _whereabouts(place: Place, job: Job, request: Target) -> str | None:
    if not job.started_at:
        return None
    try:
        return await place.frontier.whereabouts(job.id, request.fingerprint, request.host)
    except FrontierLost:
        # Then the store is all there is to tell of it.
        return None


def _as_given(url: str, spec: JobSpec) -> Input:
    """Read as a list of one line is, so that it means what it would mean there."""
    if bare(url)[:1] in ("", "#"):
        raise InvalidURL(url, "malformed")
    line = io.BytesIO(url.encode("utf-8", "surrogateescape"))
    params = Params.of(spec)
    return next(read_sources(["-"], params, spec.politeness.group, None, line).inputs)


async def _holdup(place: Place, job: Job) -> str | None:
    stands = await place.standing(job)
    if stands.state in (JobState.RUNNING, JobState.WAITING):
        return stands.limiting
    return f"the job is {stands.state}" + (f": {job.reason}" if job.reason else "")


def _of_no_request(store: Store, job: Job, asked: Input) -> Explanation:
    verdict = _rejection(store, job.id, asked.spelt)
    if verdict is None and asked.reason == "malformed":
        raise InvalidURL(asked.spelt, "malformed")
    return Explanation(asked.spelt, None, verdict or Verdict("skipped", asked.reason))


def _of_ending(
    store: Store, job: Job, spelt: str, given: Sequence[Input], request: Target, record: Record
) -> Explanation:
    parent = None if record.parent is None else ending(store, record.job, record.parent)
    return Explanation(
        spelt,
        request,
        _ended(store, job, record),
        given,
        record,
        parent=parent.url if parent else None,
        redirected_from=redirects_to(store, record.job, request.fingerprint, REDIRECTS_SHOWN),
        hops=list(_hops(store, record)),
    )


def _ended(store: Store, job: Job, record: Record) -> Verdict:
    outcome = _OUTCOMES[type(record)]
    reason = None if isinstance(record, PageRecord) else record.reason
    if isinstance(record, RedirectRecord) and reason and reason.startswith(PREFIX):
        return _of_trap(outcome, _trap(store, job, record.target) or Trap(reason.removeprefix(PREFIX), ""))
    return Verdict(outcome, reason)


def _of_trap(outcome: str, trap: Trap) -> Verdict:
    return Verdict(outcome, "trap", trap.reason, trap.why, allowing(trap.rule))


def _trap(store: Store, job: Job, url: str) -> Trap | None:
    if pure := Traps(job.spec.allow_traps, job.created_at).of(url):
        return pure
    # Which ones came first is forgotten with the process; that there were too many is not.
    samples = {trap.rule: trap.samples for trap in trapped(store, job.id)}
    for rule, like_others in {"queries": fellow_queries, "subdomains": fellow_subdomain}.items():
        if why := like_others(url, samples.get(rule, ())):
            return Trap(rule, why)
    return None


def _hops(store: Store, record: Record) -> Iterator[Record]:
    here: Record | None = record
    for _ in range(MAX_HOPS):
        if not isinstance(here, RedirectRecord) or here.target_fingerprint is None:
            return
        here = ending(store, record.job, here.target_fingerprint)
        if here is None:
            return
        yield here


def _rejection(store: Store, job: str, spelt: str) -> Verdict | None:
    refused = inputs.c.job == job, inputs.c.spelt == spelt, inputs.c.fingerprint.is_(None)
    with store.read() as db:
        row = db.execute(select(inputs.c.line, inputs.c.reason).where(*refused).limit(1)).one_or_none()
    return Verdict("rejected", row.reason, f"line {row.line} of the input") if row else None


def _forecast(store: Store, job: Job, url: str, exclusions: Exclusions) -> Verdict:
    """What would happen to a link to this URL."""
    spec = job.spec
    refusal = scope_of(store, job, spec).refusal(url)
    if refusal == "excluded":
        return Verdict("skipped", refusal, _pattern(spec, url))
    if refusal is not None:
        return Verdict("skipped", refusal, f"--scope {spec.scope}")
    if trap := _trap(store, job, url):
        return _of_trap("skipped", trap)
    if not Guard(spec.allow_private).allows_target(url):
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
        return Verdict("unknown", None, f"{origin}/robots.txt has not been asked for")
    robots = RobotsFile(origin, spec.user_agent, known.status, known.body, known.fetched_at)
    source = f"{origin}/robots.txt of {iso_time(known.fetched_at)}"
    delay_s = robots.rules.crawl_delay_s
    if delay_s > MAX_CRAWL_DELAY_S:
        return Verdict("unknown", "robots", f"{delay_s:.0f} s between requests are asked for by {source}")
    if not robots.rules.allows(url):
        return Verdict("unknown", "robots", f"refused by {source}")
    return Verdict("unknown", None, f"allowed by {source}")


def _facts(record: Record) -> dict[str, Any]:
    facts: dict[str, Any] = {"depth": record.depth}
    match record:
        case PageRecord():
            facts |= {"status": record.status, "attempts": record.attempts, "duration_ms": record.duration_ms}
            facts |= {"bytes": record.bytes, "content_type": record.content_type, "title": record.title}
            facts |= {"fetched_at": iso_time(record.fetched_at), "archive": record.archive}
        case RedirectRecord():
            facts |= {"status": record.status, "target": record.target, "fetched_at": iso_time(record.fetched_at)}
        case DeadLetter():
            facts |= {"status": record.status, "attempts": record.attempts, "detail": record.detail}
            facts |= {"died_at": iso_time(record.died_at)}
        case Drop():
            facts |= {"detail": record.detail, "dropped_at": iso_time(record.dropped_at)}
    return facts
