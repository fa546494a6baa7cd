"""Says that a spider or rules found nothing, why, and what to try."""

from __future__ import annotations

from shlex import quote

from shoal.cli.session import Session
from shoal.cli.terminal_text import safe
from shoal.jobs.job_overview import Overview
from shoal.jobs.no_items import LOGIN_STATUSES, unmatched_words
from shoal.model import JobSpec
from shoal.model.request_options import HIDDEN

MOST_SHOWN = 5


def no_items_line(session: Session, seen: Overview) -> str:
    """For a job without items: why, and the next command."""
    words = f"no items: {safe(seen.no_items or '')}"
    if seen.stored.rejected:
        return f"{words}; see them: {session.command('items', seen.job.id, '--rejected')}"
    if seen.unmatched:
        return f"{words}; try it: {shell_command(session, seen.job.spec, seen.unmatched[0].sample)}"
    if refused := next((status for status in LOGIN_STATUSES if status in seen.stored.by_status), None):
        return f"{words}; see them: {session.command('pages', seen.job.id, '--status', refused)}"
    return f"{words}; if that is right, use --allow-empty"


def shell_command(session: Session, spec: JobSpec, url: str) -> str:
    """`shoal shell` with what the job needed to reach the page, but without secrets."""
    flags = {
        "--ignore-robots": not spec.politeness.robots,
        "--allow-private": spec.allow_private,
        "--insecure": spec.insecure,
        "--ca-file FILE": spec.ca_certificates is not None,
        f"--proxy {_shown_proxy(spec)}": bool(spec.proxies),
    }
    return session.command("shell", quote(url), *(flag for flag, is_needed in flags.items() if is_needed))


def _shown_proxy(spec: JobSpec) -> str:
    has_secret = any(sign in "".join(spec.proxies[:1]) for sign in ("@", HIDDEN))
    return "URL" if has_secret or not spec.proxies else quote(spec.proxies[0])


def unmatched_lines(seen: Overview) -> list[str]:
    """A line for each selector that never matched, unless `no_items_line` has it already."""
    lines = []
    for one in seen.unmatched[:MOST_SHOWN]:
        words = unmatched_words(one.selector, one.pages)
        if words not in (seen.no_items or ""):
            lines.append(f"  {safe(words)} ({one.use} in {safe(one.callback)})")
    return lines
