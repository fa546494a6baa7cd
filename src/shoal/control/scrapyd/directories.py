"""The directories of logs and items as pages, which ScrapydWeb reads: projects, then spiders, then a file for each job.

They list the jobs that `listjobs.json` does. A log is there if the machine of the API has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any
from urllib.parse import quote

from flask import Blueprint, Response

from shoal.control.encoded_slashes import with_slashes
from shoal.control.problems import Problem
from shoal.control.scrapyd.arguments import Arguments
from shoal.control.scrapyd.calls import READ, add_rules, admit
from shoal.control.scrapyd.files import ITEMS, LOG
from shoal.control.scrapyd.jobs import listjobs

blueprint = Blueprint("scrapyd_directories", __name__)
_KINDS = {"logs": ("log_url", LOG, "text/plain"), "items": ("items_url", ITEMS, "application/x-ndjson")}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Directory listing for {path}</title></head>
<body>
<h1>Directory listing for {path}</h1>
<table>
<thead>
<tr><th>Filename</th><th>Size</th><th>Last modified</th><th>Content type</th><th>Content encoding</th></tr>
</thead>
<tbody>
{rows}
</tbody>
</table>
</body>
</html>
"""
_ROW = """<tr class="{parity}">
    <td><a href="{link}">{name}</a></td>
    <td></td>
    <td>{modified}</td>
    <td>{kind}</td>
    <td></td>
</tr>"""


def directory(kind: str, project: str | None = None, spider: str | None = None) -> Response:
    admit(READ)
    within = [with_slashes(name) for name in (project, spider) if name is not None]
    url, ending, mime = _KINDS[kind]
    jobs = [job for job in _jobs() if job.get(url) and [job["project"], job["spider"]][: len(within)] == within]
    if within and not jobs:
        raise Problem(404, f"there are no {kind} of {' and '.join(within)}")
    if spider is None:
        names = sorted({str(job[("project", "spider")[len(within)]]) for job in jobs})
        entries = [(f"{name}/", "", "[Directory]") for name in names]
    else:
        entries = [(f"{job['id']}{ending}", _modified(job), f"[{mime}]") for job in jobs]
    rows = "\n".join(_row(number, *entry) for number, entry in enumerate(entries))
    path = escape("/".join(["", kind, *within, ""]))
    return Response(_PAGE.format(path=path, rows=rows), content_type="text/html; charset=utf-8")


for _kind in _KINDS:
    for _below in ("/", "/<project>/", "/<project>/<spider>/"):
        _name = f"{_kind}_{_below.count('<')}"
        add_rules(blueprint, f"/{_kind}{_below}", _name, lambda kind=_kind, **names: directory(kind, **names))


def _jobs() -> Iterator[Mapping[str, Any]]:
    listed = listjobs(Arguments({}, {}))
    yield from listed["running"]
    yield from listed["finished"]


def _modified(job: Mapping[str, Any]) -> str:
    return str(job.get("end_time") or job.get("start_time") or "").partition(".")[0]


def _row(number: int, name: str, modified: str, kind: str) -> str:
    link = escape(quote(name.removesuffix("/"), safe="") + "/" * name.endswith("/"))
    parity = "even" if number % 2 else "odd"
    return _ROW.format(parity=parity, link=link, name=escape(name), modified=modified, kind=kind)
