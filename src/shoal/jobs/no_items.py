"""Explains why a job with a spider or rules has no items, although it got answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shoal.engine.reading.blocked_requests import BLOCKED
from shoal.model import JobState
from shoal.store.jobs import Job
from shoal.store.results.job_figures import StoredFigures, UnmatchedSelector
from shoal.wording import plural

LOGIN_STATUSES = ("401", "403")
LOGIN_HINT = "a login, cookie or header may be missing"
BLOCKING = frozenset({"403", "429", "503"})


def why_no_items(job: Job, state: JobState, stored: StoredFigures) -> str | None:
    """None if the job has items, or has not ended, or need not have any: one without a spider or rules, one that allows
    it, or a refresh of pages that did not change. None also if nothing answered or all answers were refusals, which are
    reported as such."""
    pages = sum(n for status, n in stored.by_status.items() if status.startswith("2"))
    ended = state in (JobState.DONE, JobState.LIMITED)
    has_spider = job.spec.spider is not None or job.spec.rules is not None or job.extracted_by is not None
    if not ended or not has_spider or job.spec.allow_empty or stored.items or stored.unchanged:
        return None
    if not stored.by_status or is_blocked(stored):
        return None
    early = ", until a limit ended the job" if state is JobState.LIMITED else ""
    nothing = NothingFound(
        pages,
        stored.rejected,
        stored.reject_reason,
        sum(group.n for group in stored.failures if group.kind == "callback"),
        [] if job.extracted_by is not None else stored.unmatched,
        _refused(stored) if pages else _no_good_page(stored),
        stored.dropped_items,
    )
    return why_nothing_found(nothing, early)


def is_blocked(stored: StoredFigures) -> bool:
    """Whether every response was a refusal."""
    answers = set(stored.by_status)
    answers |= {str(group.status) for group in stored.failures if group.status is not None and group.kind != BLOCKED}
    if any(group.kind == BLOCKED for group in stored.failures):
        # Whatever status the host gives its refusal.
        answers.add("403")
    return bool(answers) and answers <= BLOCKING


class NothingFound(NamedTuple):
    """What is known of pages that gave no item."""

    pages: int
    rejected: int
    reject_reason: str | None
    """The most frequent one."""
    failed: int
    """Pages on which a callback failed."""
    unmatched: Sequence[UnmatchedSelector]
    refused: str | None = None
    """Answers that ask for a login, or that none was good, in words."""
    dropped: Mapping[str, int] = {}
    """Items that steps dropped, by reason, the most frequent first."""


def why_nothing_found(nothing: NothingFound, early: str = "") -> str:
    if nothing.rejected:
        found = "the only one was" if nothing.rejected == 1 else f"all {nothing.rejected:,} were"
        return f"{found} rejected, mostly because of {nothing.reject_reason!r}"
    if nothing.dropped:
        return f"steps dropped all {sum(nothing.dropped.values()):,}, mostly because of {next(iter(nothing.dropped))!r}"
    failed = f"the spider failed on {plural(nothing.failed, 'page')}" if nothing.failed else None
    reasons = [failed, _unmatched(nothing.unmatched, "each"), nothing.refused]
    if not any(reasons):
        reasons = [_unmatched(nothing.unmatched, "follow")]
    return "; ".join(filter(None, reasons)) or f"nothing was extracted from {plural(nothing.pages, 'page')}{early}"


def _unmatched(selectors: Sequence[UnmatchedSelector], use: str) -> str | None:
    first = next((one for one in selectors if one.use == use), None)
    return None if first is None else unmatched_words(first.selector, first.pages)


def _refused(stored: StoredFigures) -> str | None:
    refused = {status: stored.by_status[status] for status in LOGIN_STATUSES if status in stored.by_status}
    parts = [f"{plural(n, 'page')} answered {status}" for status, n in refused.items()]
    return f"{', '.join(parts)}: {LOGIN_HINT}" if parts else None


def _no_good_page(stored: StoredFigures) -> str:
    counts = ", ".join(f"{n:,} x {status}" for status, n in stored.by_status.items())
    dead = f"{plural(stored.dead, 'request')} failed" if stored.dead else None
    login = LOGIN_HINT if any(status in stored.by_status for status in LOGIN_STATUSES) else None
    return "; ".join(filter(None, (f"no page was good: {counts}", dead, login)))


def unmatched_words(selector: str, pages: int) -> str:
    on = "did not match on the only page" if pages == 1 else f"matched on none of {pages:,} pages"
    return f'the selector "{selector}" {on}'
