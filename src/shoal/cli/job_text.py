"""A job's figures as text, for the summary of a crawl and for `shoal job`."""

from __future__ import annotations

from collections.abc import Iterator

from shoal.cli.humanize import count, duration, plural, size
from shoal.cli.terminal_text import safe, shortened
from shoal.jobs.job_overview import Overview
from shoal.jobs.reason_words import dropped_by, skipped_words
from shoal.model import ENDED, Figures, ScopeKind
from shoal.model.record import HANDLED
from shoal.urls.traps import RULES, allowing
from shoal.urls.url_shapes import allowing as allowing_shape

_REASONS_SHOWN = 3
_PATTERNS_SHOWN = 3


def summary_line(seen: Overview) -> str:
    job = seen.job
    text = f"{safe(job.spec.name)}: {state_words(seen)}, {extent(seen)}"
    if not job.seconds:
        # A run stores its duration when it ends, so a killed run has none.
        return f"{text} ({size(seen.stored.bytes)})"
    rate = seen.frontier.pages / job.seconds
    return f"{text} in {duration(job.seconds)} ({rate:.1f} p/s, {size(seen.stored.bytes)})"


def state_words(seen: Overview) -> str:
    """As in `done, sink behind by 1,200`."""
    behind = seen.sinks_behind if seen.state in ENDED else 0
    return f"{seen.state}, sink behind by {count(behind)}" if behind else str(seen.state)


def sink_lines(seen: Overview) -> Iterator[str]:
    """For each sink: where it delivers to, and how far it has come."""
    for sink in seen.sinks:
        parts = [f"{count(sink.delivered)} delivered"]
        parts += [f"behind by {count(sink.behind)} ({duration(sink.behind_s)})"] if sink.behind else []
        parts += [f"{count(sink.refused)} refused"] if sink.refused else []
        parts += [f"{'stopped' if sink.stuck else 'waits'}: {safe(sink.fault)}"] if sink.fault and sink.behind else []
        yield f"{safe(sink.url)}: {', '.join(parts)}"


def extent(seen: Overview) -> str:
    return f"{plural(seen.frontier.pages, 'page')} of {plural(seen.stored.hosts, 'host')}"


def extracted(seen: Overview) -> str:
    """Counts of items, rejects and items that steps dropped."""
    stored, drops = seen.stored, list(seen.stored.dropped_items.items())
    parts = [count(stored.items)] if stored.items or stored.rejected or drops else []
    parts += [f"{count(stored.rejected)} rejected"] if stored.rejected else []
    if drops:
        shown = [f"{safe(reason)} {count(n)}" for reason, n in drops[:_REASONS_SHOWN]]
        shown += ["…"] if len(drops) > _REASONS_SHOWN else []
        parts.append(f"{count(sum(n for _, n in drops))} dropped ({', '.join(shown)})")
    return ", ".join(parts)


def archived(seen: Overview) -> str:
    if not seen.job.spec.archive:
        return "none (--no-archive)"
    parts = [size(seen.archive_bytes), left_out(seen)] if seen.archive_bytes else [left_out(seen)]
    return ", ".join(filter(None, parts))


def left_out(seen: Overview) -> str:
    """How many responses the archive lacks because of its size limit."""
    n, limit = seen.stored.unarchived, seen.job.spec.max_archive_bytes
    return f"full at {size(limit)}: {plural(n, 'response')} not archived" if n and limit is not None else ""


def webhook_deliveries(seen: Overview) -> str:
    """Counts of the job's webhook deliveries by state."""
    if seen.webhook is None:
        return ""
    counts = {
        "delivered": seen.webhook.delivered,
        "waiting": seen.webhook.waiting,
        "given up": seen.webhook.given_up,
    }
    fault = f": {safe(seen.webhook.fault)}" if seen.webhook.fault else ""
    return (", ".join(f"{count(n)} {what}" for what, n in counts.items() if n) or "nothing sent yet") + fault


def refreshed(seen: Overview) -> str:
    """How the pages of a refresh compare with the pages of earlier jobs."""
    if not seen.job.spec.refresh:
        return ""
    same, other = seen.stored.unchanged, seen.stored.changed
    if not same and not other:
        return f"nothing to compare with: no earlier job named {safe(seen.job.spec.name)} has these pages"
    # Imported here only: few jobs are a refresh.
    from shoal.model.content_change import MARKUP

    markup = seen.stored.changes.get(MARKUP, 0)
    only = f" ({count(markup)} of them in markup only)" if markup else ""
    counts = {"unchanged": same, f"changed{only}": other, "new": seen.stored.pages - same - other}
    return ", ".join(f"{count(n)} {what}" for what, n in counts.items() if n)


def assets(seen: Overview) -> str:
    n = seen.stored.assets
    return f"{plural(n, 'part')} of pages or files of items, beside the pages" if n else ""


def merged(seen: Overview) -> str:
    n = seen.stored.merged
    return (
        f"{plural(n, 'page')} with the canonical URL of another; `pages {seen.job.id} --merged` lists them" if n else ""
    )


def rendered(seen: Overview) -> str:
    """How many pages a browser loaded, and which."""
    patterns = seen.stored.rendered
    if not patterns:
        return ""
    named = ", ".join(map(safe, list(patterns)[:_PATTERNS_SHOWN])) + (", …" if len(patterns) > _PATTERNS_SHOWN else "")
    return f"{count(sum(patterns.values()))} of {plural(seen.stored.pages, 'page')}: {named}"


def nofollow_warning(seen: Overview) -> str:
    """For a crawl that ends early, because a start page asks for it."""
    if not seen.nofollow_starts:
        return ""
    return (
        f"warning: the start page {safe(seen.nofollow_starts[0])} is nofollow: its links were not followed; "
        "--ignore-nofollow follows them, if you have permission"
    )


def cost(seen: Overview) -> str:
    """What proxies cost, and how much of the limit that is."""
    spent, most = seen.stored.cost, seen.job.spec.limits.cost
    if not spent and most is None:
        return ""
    return f"{spent:.4g} for proxies" if most is None else f"{spent:.4g} of {most:g} for proxies"


def statuses(seen: Overview) -> str:
    return ", ".join(f"{count(n)} x {status}" for status, n in seen.stored.by_status.items())


def other_outcomes(figures: Figures) -> str:
    """Counts of the requests that did not become pages."""
    parts = [plural(figures.redirects, "redirect")] if figures.redirects else []
    parts += [plural(figures.dead, "dead letter")] if figures.dead else []
    return ", ".join([*parts, *(_dropped(reason, n) for reason, n in figures.dropped.items())])


def _dropped(reason: str, n: int) -> str:
    if reason == HANDLED:
        return f"{plural(n, 'failure')} handled by the spider"
    return f"{count(n)} dropped by {dropped_by(reason)}"


def pending(figures: Figures) -> str:
    parts = {"queued": figures.queued, "in flight": figures.leased}
    return ", ".join(f"{count(n)} {where}" for where, n in parts.items() if n)


def trap_lines(seen: Overview, width: int, samples: int) -> Iterator[str]:
    """For each trap rule: how many links were skipped and why, a few samples, and the option that allows them."""
    if seen.stored.traps:
        yield "links not followed, because they look endless:"
    for trap in seen.stored.traps:
        yield f"  {trap.rule}: {plural(trap.links, 'link')} with {RULES[trap.rule]}"
        yield from (f"    {shortened(safe(url), width - 4)}" for url in trap.samples[:samples])
        yield f"    allow with {allowing(trap.rule)}"


def shape_lines(seen: Overview, width: int, samples: int) -> Iterator[str]:
    """For each shape of URLs that was not worth a request: how many were dropped, a few samples, and the option."""
    if seen.stored.shapes:
        yield "not requested, because pages of the same shape brought nothing new:"
    for one in seen.stored.shapes:
        yield f"  {safe(one.shape)} at {safe(one.host)}: {plural(one.requests, 'URL')}"
        yield from (f"    {shortened(safe(url), width - 4)}" for url in one.samples[:samples])
        yield f"    request them with {safe(allowing_shape(one.shape))}"


def skip_words(reason: str) -> str:
    """Why a link is not followed."""
    return skipped_words(reason)


def skipped(seen: Overview) -> str:
    """Links of a list are not followed anyway: that they lead elsewhere is no news."""
    news = {
        reason: n
        for reason, n in seen.stored.skipped.items()
        if reason != "off_scope" or seen.job.spec.scope is not ScopeKind.LISTED
    }
    return ", ".join(f"{count(n)} {skip_words(reason)}" for reason, n in news.items())
