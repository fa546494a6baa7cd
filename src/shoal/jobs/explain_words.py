"""What happened to a URL in a job, step by step, in words for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from shoal.fetch.exchange import REDIRECTS
from shoal.jobs.explain import Explanation, Record, Verdict
from shoal.model import ENDED, DeadLetter, Drop, PageRecord, Politeness, RedirectRecord, fingerprint_hex
from shoal.spiders.url_lists import reason_words
from shoal.store.jobs import Job
from shoal.store.results.columns import iso_time
from shoal.wording import plural, size

LINES_NAMED = 5
Command = Callable[..., str]


def explained_lines(explained: Explanation, job: Job, command: Command) -> Iterator[str]:
    """A URL, its outcome, and an indented line for each step. `command` writes a command of this job's deployment."""
    verdict = explained.verdict
    url = explained.target.url if explained.target else explained.spelt
    yield url
    if url != explained.spelt:
        yield f"  normalized from {explained.spelt}"
    yield f"{verdict.outcome}{f' ({_cause(explained)})' if verdict.reason else ''}"
    for step in [*_origin(explained, job), *_course(command, explained, job)]:
        yield f"  {step}"


def _cause(explained: Explanation) -> str | None:
    record = explained.record
    if isinstance(record, DeadLetter) and record.status is not None:
        return f"{record.reason} {record.status}"
    return explained.verdict.reason


def _origin(explained: Explanation, job: Job) -> Iterator[str]:
    """How the job found the URL."""
    if explained.given:
        lines = [f"{given.line:,}" for given in explained.given]
        more = f" and {len(lines) - LINES_NAMED:,} more" if len(lines) > LINES_NAMED else ""
        yield f"input line {', '.join(lines[:LINES_NAMED])}{more}"
    record = explained.record
    if record is not None and explained.parent:
        yield f"found on {explained.parent}, at depth {record.depth}"
    for redirect in explained.redirected_from:
        yield f"redirected from {redirect.url} ({redirect.status})"
    if record is not None and not (explained.given or explained.parent or explained.redirected_from):
        of_scrapy = job.spec.scrapy is not None
        yield "the spider starts with it" if of_scrapy else "robots.txt or another sitemap names it as a sitemap"


def _course(command: Command, explained: Explanation, job: Job) -> Iterator[str]:
    if explained.record is not None:
        yield from _ended(command, explained, explained.record, job)
        return
    verdict = explained.verdict
    match verdict.outcome:
        case "rejected":
            yield f"{verdict.rule} {_why_no_url(verdict.reason)}"
        case "skipped":
            yield f"links to it are not followed: {_why_skipped(verdict)}"
            yield from _way_out(command, job, verdict)
        case "unknown":
            yield from _unknown(explained, job)
        case _:
            yield {
                "queued": "it is in the queue",
                "waiting": "an attempt failed; it waits for the next one",
                "leased": "it is being fetched",
            }[verdict.outcome]
            if verdict.rule:
                yield f"what delays it: {verdict.rule}"


def _ended(command: Command, explained: Explanation, record: Record, job: Job) -> Iterator[str]:
    match record:
        case PageRecord():
            attempt = f", at attempt {record.attempts}" if record.attempts > 1 else ""
            yield f"fetched at {iso_time(record.fetched_at)}{attempt}"
            nowhere = ", without a valid Location header" if record.status in REDIRECTS else ""
            _, through, proxy = record.via.partition(" via ")
            yield f"answered {record.status} in {record.duration_ms} ms{through}{proxy}{nowhere}"
            if record.session:
                yield f"in the session {record.session}; others may have fetched the URL too: see `shoal pages --json`"
            yield f"{record.content_type or 'no content type'}, {size(record.bytes)}, {record.title or 'no title'}"
            if record.canonical and record.canonical != record.url:
                yield f"it names another URL as its own (rel=canonical): {record.canonical}"
            if explained.merged_into:
                yield f"it counts as one with {explained.merged_into}, and is in no listing (--canonical merge)"
            yield from _directives(record, job.spec.politeness)
            if record.archive:
                yield f"body: {command('pages', job.id, '--body', fingerprint_hex(record.fingerprint))}"
            yield f"data: {command('export', job.id, '-o FILE')}"
        case RedirectRecord():
            yield f"fetched at {iso_time(record.fetched_at)}"
            yield f"answered {record.status}: redirects to {record.target}"
            if record.reason:
                yield f"the redirect is not followed: {_why_skipped(explained.verdict)}"
                yield from _way_out(command, job, explained.verdict)
            yield from (f"{hop.url} ended as {_short(hop)}" for hop in explained.hops)
        case DeadLetter():
            yield f"given up at {iso_time(record.died_at)} after {plural(record.attempts, 'attempt')}: {record.detail}"
            yield f"to retry it: {command('dead', job.id, '--retry')}"
        case Drop():
            yield f"dropped at {iso_time(record.dropped_at)}: {record.detail}"


def _directives(record: PageRecord, politeness: Politeness) -> Iterator[str]:
    if record.noindex:
        yield f"it asks not to be indexed (noindex){'; its text is not stored' if politeness.robots else ''}"
    if record.nofollow:
        yield f"it asks that its links not be followed (nofollow){'; none was' if politeness.obeys_nofollow else ''}"


def _short(record: Record) -> str:
    match record:
        case PageRecord():
            return f"page {record.status}"
        case DeadLetter() | Drop():
            return f"{'dead' if isinstance(record, DeadLetter) else 'dropped'} ({record.reason})"
        case _:
            return f"redirect {record.status}"


def _unknown(explained: Explanation, job: Job) -> Iterator[str]:
    verdict, depth = explained.verdict, job.spec.limits.depth
    deepest = "" if depth is None else f", nor links on pages at depth {depth} (--max-depth)"
    uncounted = (
        "nofollow links do not count, nor <link> elements for programs (link_type), "
        f"nor links over a page's limit (too_many_links){deepest}"
    )
    yield f"the job found no link to it{'' if job.state in ENDED else ' so far'}; {uncounted}"
    if verdict.reason:
        yield f"if a link led to it, it would be dropped: {verdict.rule}"
    else:
        yield f"if a link led to it, it would be fetched: it is in scope, and {verdict.rule}"


def _way_out(command: Command, job: Job, verdict: Verdict) -> Iterator[str]:
    if verdict.allow:
        again = command("submit" if job.fleet else "crawl", "…", verdict.allow)
        yield f"to follow it: {again}"


def _why_skipped(verdict: Verdict) -> str:
    by = f" ({verdict.rule})" if verdict.rule else ""
    match verdict.reason:
        case "off_scope":
            return f"it is outside the scope{by}"
        case "excluded":
            return f"the job's patterns exclude it{by}"
        case "logout":
            return f"it would log out{by}; to fetch it, give its URL as a start URL"
        case "trap":
            return f"it looks like part of an endless series{by}{f': {verdict.detail}' if verdict.detail else ''}"
        case "file_type":
            return f"its ending shows the file type {verdict.detail}, which the job does not fetch{by}"
        case _:
            return f"it {_why_no_url(verdict.reason)}"


def _why_no_url(reason: str | None) -> str:
    return reason_words(reason or "malformed")
