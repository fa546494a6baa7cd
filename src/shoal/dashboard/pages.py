"""The routes of the dashboard: one function per page or action.

A page is HTML and needs no script. An action is a form; it answers with a redirect to the page that shows its effect,
and that page shows the message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, cast

from flask import Blueprint, Response, abort, jsonify, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from shoal.dashboard import formats
from shoal.dashboard.charts import charts
from shoal.dashboard.copy_as import copies
from shoal.dashboard.cursors import cursor_of, position_of
from shoal.dashboard.figures import MARKS, progress
from shoal.dashboard.job_row_html import RowHtml
from shoal.dashboard.job_rows import JobRows, health
from shoal.dashboard.job_tabs import FORMATS, TABS, page_content, tab_content
from shoal.dashboard.login import Login, say, viewer
from shoal.dashboard.option_form import CHANGEABLE, changed_options, form_value, submitted_job
from shoal.dashboard.source import Source
from shoal.errors import ShoalError, Unavailable, UnknownJob
from shoal.jobs.archived_pictures import PDF, SCREENSHOT, NewestScreenshots, pictures_of
from shoal.jobs.deployment import JobStatus
from shoal.jobs.explain_words import explained_lines
from shoal.jobs.job_data import job_data
from shoal.jobs.job_overview import Overview
from shoal.jobs.job_series import job_series
from shoal.jobs.mask_secrets import without_secrets
from shoal.model import ENDED
from shoal.model.options import OPTIONS, check_options
from shoal.store.archive.capture import Resource
from shoal.store.jobs import Job
from shoal.store.results.row_formats import chunks
from shoal.store.results.time_series import Point
from shoal.store.store import Store
from shoal.wording import plural

JOBS_SHOWN = 50
QUEUE_LOOKED_AT = 200
QUEUE_SHOWN = 15
HOSTS_SHOWN = 20
PICTURE_KEPT_S = 600
"""A browser need not ask for a picture again for so long."""
POLICY = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
View = Callable[..., AnyResponse | str]


def dashboard(source: Source, login: Login) -> Blueprint:
    """The pages below `/`. Everyone but a viewer who is logged in is sent to the login page."""
    made = Blueprint(
        "dashboard", __name__, template_folder="templates", static_folder="static", static_url_path="/dashboard"
    )
    pages = _Pages(source)
    login.register(made)
    made.before_request(login.require)
    made.after_request(_add_headers)
    made.register_error_handler(ShoalError, _show_error)
    made.register_error_handler(HTTPException, _show_refusal)
    about = {"source": source, "marks": MARKS, "options_by_name": OPTIONS, "form_value": form_value, "plural": plural}
    made.context_processor(lambda: {**about, **login.context()})
    for name, filter in formats.FILTERS.items():
        made.add_app_template_filter(filter, name)
    made.add_url_rule("/", "jobs", pages.jobs)
    made.add_url_rule("/jobs", "submit", pages.submit, methods=["POST"])
    made.add_url_rule("/copies", "copies", pages.copies, methods=["POST"])
    made.add_url_rule("/jobs/<id>", "job", pages.job)
    made.add_url_rule("/jobs/<id>/explain", "explain", pages.explain)
    made.add_url_rule("/jobs/<id>/<any(pause, resume, cancel):verb>", "control", pages.control, methods=["POST"])
    made.add_url_rule("/jobs/<id>/retry", "retry", pages.retry, methods=["POST"])
    made.add_url_rule("/jobs/<id>/change", "change", pages.change, methods=["POST"])
    made.add_url_rule("/jobs/<id>/allow", "allow", pages.allow, methods=["POST"])
    made.add_url_rule("/jobs/<id>/pages/<fingerprint>", "page", pages.page)
    made.add_url_rule("/jobs/<id>/pages/<fingerprint>/pictures/<int:place>", "picture", pages.picture)
    made.add_url_rule("/jobs/<id>/export/<any(items, pages, inputs):what>.<format>", "export", pages.export)
    made.add_url_rule("/jobs/<id>/<tab>", "tab", pages.tab)
    made.add_url_rule("/fleet", "fleet", pages.fleet)
    return made


class _Pages:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows = JobRows(source)
        self._row_html = RowHtml()
        self._screenshots = NewestScreenshots()

    def jobs(self) -> str:
        after = position_of(request.args.get("after"), (float, str))
        found = self._source.jobs(viewer(), after, JOBS_SHOWN + 1)
        rows = self._rows.read([job for _, job in found[:JOBS_SHOWN]])
        older = cursor_of(found[JOBS_SHOWN - 1][0]) if len(found) > JOBS_SHOWN else None
        runs = self._source.next_runs(viewer())
        words = health(rows, self._source.workers())
        shown = [self._row_html.of(row, runs.get(row.job.id, "–") if runs else None) for row in rows]
        return render_template("jobs.html", rows=shown, health=words, older=older, after=after, runs=runs)

    def submit(self) -> AnyResponse:
        urls, options = submitted_job(request.form)
        id = self._source.submit(viewer(), urls, options)
        return _see("job", "The job is submitted.", id=id)

    def copies(self) -> AnyResponse:
        """For the script of the page."""
        urls, options = submitted_job(request.form)
        return jsonify(copies(urls, options, request.form.get("rules", ""), request.host_url.rstrip("/")))

    def job(self, id: str) -> str:
        job = self._found(id)
        seen, points = self._source.overview(job), job_series(self._source.store, job)
        status = self._source.status(job)
        queue = self._source.next_requests(job, QUEUE_LOOKED_AT) if status.state not in ENDED else []
        with closing(self._source.archive()) as archive:
            screenshots = self._screenshots.of(self._source.store, archive, job)
        names = dict.fromkeys([*(target.host for target, _ in queue), *(group.host for group in seen.failures)])
        return render_template(
            "job.html",
            **self._heading(job, status),
            seen=seen,
            progress=progress(status, points),
            charts=charts(_with_queue(points, seen) if status.state not in ENDED else points),
            hosts=self._source.hosts(list(names)[:HOSTS_SHOWN] or sorted(seen.job.admitted)[:HOSTS_SHOWN]),
            queue=queue[:QUEUE_SHOWN],
            screenshots=screenshots,
            now=time.time(),
            changeable=CHANGEABLE,
        )

    def tab(self, id: str, tab: str) -> str:
        job = self._found(id)
        if tab not in TABS:
            abort(404, f"a job has no page {tab!r}")
        content = tab_content(self._source, job, tab, request.args)
        return render_template(f"tab_{tab}.html", **self._heading(job), tab=tab, **content)

    def page(self, id: str, fingerprint: str) -> str:
        job = self._found(id)
        content = page_content(self._source, job, fingerprint)
        fault = None
        try:
            pictures = self._pictures(job, fingerprint)
        except Unavailable as error:
            pictures, fault = [], str(error)
        about = {"pictures": pictures, "pictures_fault": fault, "screenshot_type": SCREENSHOT}
        return render_template("page.html", **self._heading(job), tab="pages", **content, **about)

    def picture(self, id: str, fingerprint: str, place: int) -> AnyResponse:
        pictures = self._pictures(self._found(id), fingerprint)
        if place >= len(pictures) or pictures[place].content_type not in (SCREENSHOT, PDF):
            abort(404, f"page {fingerprint} has no picture {place}")
        picture = pictures[place]
        response = Response(picture.body, content_type=picture.content_type)
        response.cache_control.private, response.cache_control.max_age = True, PICTURE_KEPT_S
        if picture.content_type == PDF:
            response.headers["Content-Disposition"] = f'attachment; filename="{fingerprint}.pdf"'
        return response

    def _pictures(self, job: Job, fingerprint: str) -> list[Resource]:
        with closing(self._source.archive()) as archive:
            return pictures_of(self._source.store, archive, job.id, fingerprint)

    def export(self, id: str, what: str, format: str) -> AnyResponse:
        job = self._found(id)
        if format not in FORMATS:
            abort(404, f"there is no export as {format!r}: choose from {', '.join(FORMATS)}")
        parts = _exported(self._source.store, job, what, format)
        return self._source.download(parts, "application/octet-stream", f"{job.id}-{what}.{format}")

    def allow(self, id: str) -> AnyResponse:
        job, rule = self._found(id), request.form.get("rule", "")
        options = {"allow_trap": tuple(dict.fromkeys([*job.spec.allow_traps, rule]))}
        check_options(options)
        self._source.change(viewer(), job, options)
        return _see("tab", f"Links of the rule {rule} are followed from now on.", id=id, tab="skipped")

    def explain(self, id: str) -> str:
        job, url = self._found(id), request.args.get("url", "").strip()
        explained = self._source.explain(job, url) if url else None
        lines = list(explained_lines(explained, job, self._command)) if explained else []
        facts = explained.as_dict() if explained else {}
        return render_template(
            "tab_explain.html", **self._heading(job), tab="explain", url=url, lines=lines, facts=facts
        )

    def _command(self, *words: str) -> str:
        return f"`{' '.join([self._source.shoal, *words])}`"

    def control(self, id: str, verb: str) -> AnyResponse:
        return _see("job", self._source.control(viewer(), self._found(id), verb), id=id)

    def retry(self, id: str) -> AnyResponse:
        where = {name: value for name in ("reason", "status", "host") if (value := request.form.get(name))}
        n = self._source.retry(viewer(), self._found(id), where)
        return _see("tab", f"{n:,} requests are queued again.", id=id, tab="errors")

    def change(self, id: str) -> AnyResponse:
        job, options = self._found(id), changed_options(request.form)
        if "preview" in request.form:
            found = self._source.preview(viewer(), job, options)
            # The script shows it beside what was typed; without a script, the page shows it.
            is_script = request.accept_mimetypes.best == "text/plain"
            return Response(found, content_type="text/plain") if is_script else _see("job", found, id=id)
        self._source.change(viewer(), job, options)
        return _see("job", "The change holds from the next requests on.", id=id)

    def fleet(self) -> str:
        fleet = self._source.fleet(viewer())
        return render_template("fleet.html", fleet=fleet, charts=charts(fleet.points) if fleet else [])

    def _found(self, id: str) -> Job:
        return self._source.find(viewer(), id)

    def _heading(self, job: Job, status: JobStatus | None = None) -> Mapping[str, Any]:
        status = status or self._source.status(job)
        return {"job": without_secrets(job), "status": status, "is_over": status.state in ENDED, "tabs": TABS}


def _with_queue(points: list[Point], seen: Overview) -> list[Point]:
    """The queue of the current minute is not recorded yet."""
    return [*points[:-1], replace(points[-1], queue=seen.frontier.queued + seen.frontier.leased)] if points else []


def _exported(store: Store, job: Job, what: str, format: str) -> Iterator[bytes]:
    with job_data(store, job, what) as data:
        for chunk in chunks(data.rows, format, data.columns):
            yield chunk.data


def _see(page: str, message: str, **values: str) -> AnyResponse:
    return say(redirect(url_for(f"dashboard.{page}", **cast(Any, values)), 303), message)


def error_page(text: str, status: int) -> tuple[str, int]:
    return render_template("error.html", error=text), status


def _show_error(error: ShoalError) -> tuple[str, int]:
    """Keeps the reader in the dashboard; the status is for the script, which keeps what it showed."""
    is_unknown = isinstance(error, UnknownJob)
    return error_page(str(error), 404 if is_unknown else 503 if isinstance(error, Unavailable) else 422)


def _show_refusal(error: HTTPException) -> tuple[str, int]:
    return error_page(error.description or error.name, error.code or 500)


def _add_headers(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Frame-Options"] = "DENY"
    return response
