"""One line about what came of a request, for `--verbose`: status, time, size, URL, and what was found there."""

from __future__ import annotations

from shoal.cli.humanize import plural, size
from shoal.cli.terminal_text import safe
from shoal.engine.request_result import RequestResult
from shoal.jobs.failure_hints import failure_name
from shoal.model import DeadLetter, Drop, PageRecord, RedirectRecord


def request_line(result: RequestResult) -> str:
    """The first word is the status, or `retry`, `dead` or `skip` with the reason, so that grep finds them."""
    match result.record:
        case PageRecord() as page:
            text = f"{page.status} {page.duration_ms / 1000:.2f}s {size(page.bytes)} {page.url}{_through(result)}"
            return safe(f"{text} -> {_found(page, result)}")
        case RedirectRecord() as hop:
            refused = f" ({hop.reason})" if hop.reason else ""
            return safe(f"{hop.status} {hop.url}{_through(result)} -> {hop.target}{refused}")
        case DeadLetter() as letter:
            name = failure_name(letter.reason, letter.status)
            return safe(f"dead {name} {letter.url}{_through(result)}{_words(letter.detail)}")
        case Drop() as refused_request:
            return safe(f"skip {refused_request.reason} {refused_request.url}{_words(refused_request.detail)}")
    name = failure_name(*result.failed) if result.failed else result.completion.reason
    return safe(f"retry {name} in {result.completion.delay_s:.1f}s {result.lease.target.url}{_through(result)}")


def _found(page: PageRecord, result: RequestResult) -> str:
    counts = {
        "item": len(page.items),
        "rejected item": len(page.rejects),
        "link": result.listed + sum(len(offer.targets) for offer in result.offers),
        "skipped link": sum(result.skips.values()),
    }
    found = ", ".join(plural(n, noun) for noun, n in counts.items() if n)
    return (found or "nothing") + (f", {result.failed[0]}" if result.failed else "")


def _through(result: RequestResult) -> str:
    return f" via {result.proxy}" if result.proxy else ""


def _words(detail: str) -> str:
    return f": {detail}" if detail else ""
