"""The page of jobs that ScrapydWeb reads: a table with scrapyd's columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any

from flask import Blueprint, Response

from shoal.control.scrapyd.arguments import Arguments
from shoal.control.scrapyd.calls import READ, add_rules, admit
from shoal.control.scrapyd.jobs import listjobs

blueprint = Blueprint("scrapyd_jobs_page", __name__)
COLUMNS = ("Project", "Spider", "Job", "PID", "Start", "Runtime", "Finish", "Log", "Items")
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Scrapyd</title></head>
<body>
<h1>Jobs</h1>
<table id="jobs">
<thead>{head}</thead>
{bodies}
</table>
</body>
</html>
"""


def jobs_page() -> Response:
    admit(READ)
    listed = listjobs(Arguments({}, {}))
    head = "<tr>" + "".join(f"<th>{name}</th>" for name in COLUMNS) + "</tr>"
    bodies = "\n".join(_body(title, listed[title.lower()]) for title in ("Pending", "Running", "Finished"))
    return Response(_PAGE.format(head=head, bodies=bodies), content_type="text/html; charset=utf-8")


add_rules(blueprint, "/jobs", "jobs", jobs_page)


def _body(title: str, jobs: Iterable[Mapping[str, Any]]) -> str:
    rows = "\n".join(map(_row, jobs))
    return f'<tbody>\n<tr><th colspan="{len(COLUMNS)}">{title}</th></tr>\n{rows}\n</tbody>'


def _row(job: Mapping[str, Any]) -> str:
    start, end = (_whole_seconds(job.get(name)) for name in ("start_time", "end_time"))
    runtime = (end or datetime.now(UTC).replace(tzinfo=None, microsecond=0)) - start if start else ""
    shown = (job["project"], job["spider"], job["id"], job.get("pid", ""), start or "", runtime, end or "")
    cells = [escape(str(value)) for value in shown]
    cells += [_link(job.get("log_url"), "Log"), _link(job.get("items_url"), "Items")]
    return "<tr>\n" + "\n".join(f"<td>{cell}</td>" for cell in cells) + "\n</tr>"


def _whole_seconds(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(microsecond=0)


def _link(url: str | None, text: str) -> str:
    return "" if url is None else f'<a href="{escape(url)}">{text}</a>'
