"""Reports a run of a job at its end: as text, as JSON, or only what went wrong."""

from __future__ import annotations

from shlex import quote
from shutil import get_terminal_size

from shoal.cli.humanize import plural
from shoal.cli.job_spec_text import higher_limit
from shoal.cli.job_text import (
    assets,
    cost,
    extracted,
    left_out,
    merged,
    nofollow_warning,
    other_outcomes,
    pending,
    refreshed,
    rendered,
    shape_lines,
    sink_lines,
    skipped,
    statuses,
    summary_line,
    trap_lines,
)
from shoal.cli.no_items_text import no_items_line, unmatched_lines
from shoal.cli.request_failures import failure_lines
from shoal.cli.session import Session
from shoal.cli.stdio import until_reader_leaves
from shoal.cli.terminal_text import safe
from shoal.embedded.home import Home
from shoal.embedded.report import Report
from shoal.errors import ShoalError, Unavailable, UsageError
from shoal.jobs.data_view import default_data
from shoal.jobs.job_overview import Overview
from shoal.jobs.job_quality import Quality, job_quality
from shoal.jobs.run_summary import (
    EXIT_BLOCKED,
    EXIT_DONE,
    EXIT_FAILURES,
    EXIT_INTERRUPTED,
    EXIT_LIMIT,
    EXIT_NOTHING,
    EXIT_UNAVAILABLE,
    exit_code,
    summary,
    why_nothing,
)
from shoal.model import JobState

GROUPS_SHOWN = 8
"""Groups of failures shown; `shoal job` shows more."""


def report_write_error(session: Session, ran: Report, error: ShoalError) -> None:
    """Raises UsageError with the export command; for an interrupted job only warns, since it writes the file later."""
    job = ran.overview.job
    if ran.overview.state is JobState.INTERRUPTED:
        session.say(f"warning: {error}")
        return
    # Imported here only: a job without a file does not need it.
    from shoal.cli.output_file import shown_path

    again = session.command("export", job.id, "-o", quote(shown_path(job.spec.output or "")), "--overwrite")
    kind = UsageError if isinstance(error, UsageError) else Unavailable
    raise kind(f"{error}; nothing is lost: `{again}` writes it later") from error


def report_run(session: Session, home: Home, ran: Report, written: int | None) -> None:
    quality = job_quality(home.store, ran.overview.job)
    if session.json:
        with until_reader_leaves():
            _report_as_json(session, ran, quality)
    elif session.quiet:
        _report_errors(session, ran.overview)
    else:
        _report_as_text(session, ran, quality, written)


def _report_as_json(session: Session, ran: Report, quality: Quality) -> None:
    for group in ran.overview.failures:
        error = {
            "kind": group.kind,
            "status": group.status,
            "host": group.host,
            "count": group.n,
            "sample": group.sample,
        }
        session.data({"type": "error", **error})
    if any(quality):
        from shoal.cli.quality_table import quality_records

        for record in quality_records(*quality):
            session.data(record)
    session.data(summary(ran.overview))
    code = exit_code(ran.overview)
    if code in (EXIT_NOTHING, EXIT_BLOCKED, EXIT_FAILURES):
        message = _exit_message(ran.overview, code)
        session.data({"type": "exit_error", "code": code, "message": message})


def _exit_message(overview: Overview, code: int) -> str | None:
    if overview.no_items is not None:
        return f"no items: {overview.no_items}"
    return overview.job.reason if code == EXIT_FAILURES else why_nothing(overview)


def _report_as_text(session: Session, ran: Report, quality: Quality, written: int | None) -> None:
    overview = ran.overview
    spec = overview.job.spec
    session.say(summary_line(overview))
    for line in _detail_lines(ran):
        session.say(line)
    if warning := nofollow_warning(overview):
        session.say(warning)
    width = get_terminal_size().columns
    for line in (*trap_lines(overview, width, samples=1), *shape_lines(overview, width, samples=1)):
        session.say(line)
    if any(quality):
        # Imported here only: a job without items does not need it.
        from shoal.cli.quality_table import quality_lines

        for line in quality_lines(*quality, width):
            session.say(line)
    for line in unmatched_lines(overview):
        session.say(line)
    for line in (*failure_lines(session, overview, GROUPS_SHOWN, further="job"), *_error_lines(session, overview)):
        session.say(line)
    if written is not None and spec.output != "-":
        from shoal.cli.output_file import shown_path

        session.say(f"wrote {plural(written, 'record')} to {shown_path(spec.output or '')}")
    for line in sink_lines(overview):
        session.say(f"  sink: {line}")
    if overview.state is JobState.INTERRUPTED or overview.sinks_behind:
        session.say(f"resume: {session.command('resume', overview.job.id)}")
    else:
        kinds = ("job", "items", "pages", "dead") if default_data(overview.job) == "items" else ("job", "pages", "dead")
        further = " | ".join(f"{kind} {overview.job.id}" for kind in kinds)
        session.say(f"see also: {session.command(further)}")
    if overview.state is JobState.LIMITED:
        session.say(f"continue with: {session.command('resume', overview.job.id, higher_limit(overview.job))}")


def _report_errors(session: Session, overview: Overview) -> None:
    """All that --quiet leaves: what went wrong, if the exit code says that something did."""
    code = exit_code(overview)
    if code not in (EXIT_DONE, EXIT_INTERRUPTED):
        for line in failure_lines(session, overview, GROUPS_SHOWN, further="job"):
            session.say(line)
    for line in _error_lines(session, overview):
        session.say(line)
    if overview.job.reason and (code == EXIT_LIMIT or (code == EXIT_FAILURES and overview.no_items is None)):
        session.say(f"error: {safe(overview.job.reason)}")
    if code == EXIT_UNAVAILABLE:
        for sink in sink_lines(overview):
            session.say(f"error: sink {sink}")


def _error_lines(session: Session, overview: Overview) -> list[str]:
    lines = []
    if overview.no_items is not None:
        lines.append(f"error: {no_items_line(session, overview)}")
    if exit_code(overview) in (EXIT_NOTHING, EXIT_BLOCKED):
        lines.append(f"error: {why_nothing(overview)}")
    if overview.on_finish:
        lines.append(f"error: {safe(overview.on_finish)}; the data is complete")
    return lines


def _detail_lines(ran: Report) -> list[str]:
    overview = ran.overview
    details = {
        "items": extracted(overview),
        "assets": assets(overview),
        "status": statuses(overview) if set(overview.stored.by_status) - {"200"} else "",
        "refresh": refreshed(overview),
        "also": ", ".join(filter(None, (other_outcomes(overview.frontier), pending(overview.frontier)))),
        "links skipped": skipped(overview),
        "merged": merged(overview),
        "rendered": rendered(overview),
        "cost": cost(overview),
        "archive": left_out(overview),
    }
    lines = [f"  {heading}: {text}" for heading, text in details.items() if text]
    reason = overview.job.reason if overview.frontier.pages else None
    return [*lines, f"  {safe(reason)}"] if reason else lines
