"""Creates the Flask app of the API: its routes, and the headers and log line of every response."""

from __future__ import annotations

import re
import time
from uuid import uuid4

from flask import Flask, Response, g, request
from werkzeug.exceptions import NotFound

from shoal import telemetry
from shoal.control import job_figures, problems, rate_limits, readiness, request_bodies, thread_slots
from shoal.control import metrics as fleet_metrics
from shoal.control.api import (
    append_urls,
    exclusions,
    exports,
    health,
    hosts,
    job_detail,
    jobs,
    metrics,
    patch_job,
    proxies,
    records,
    schedules,
    scrape,
    tokens,
    workers,
)
from shoal.control.async_bridge import NAME, Bridge
from shoal.control.dashboard_source import fleet_dashboard
from shoal.control.encoded_slashes import keeping_slashes, with_slashes
from shoal.control.openapi import serving
from shoal.control.routes import API, Routes
from shoal.control.scrapyd import directories as scrapyd_directories
from shoal.control.scrapyd import files as scrapyd_files
from shoal.control.scrapyd import jobs as scrapyd_jobs
from shoal.control.scrapyd import jobs_page as scrapyd_jobs_page
from shoal.control.scrapyd import projects as scrapyd_projects
from shoal.settings import Settings

REQUEST_ID = "X-Request-Id"
THREADS = 32
_GIVEN_ID = re.compile(r"[\x21-\x7e]{1,128}")

log = telemetry.EventLogger(__name__)

ROUTES: tuple[Routes, ...] = (
    jobs.routes,
    patch_job.routes,
    append_urls.routes,
    scrape.routes,
    records.routes,
    exports.routes,
    job_detail.routes,
    hosts.routes,
    exclusions.routes,
    proxies.routes,
    workers.routes,
    schedules.routes,
    tokens.routes,
    health.routes,
    metrics.routes,
)

SCRAPYD_BLUEPRINTS = (
    scrapyd_projects.calls.blueprint,
    scrapyd_jobs.calls.blueprint,
    scrapyd_jobs_page.blueprint,
    scrapyd_files.blueprint,
    scrapyd_directories.blueprint,
)


def create_app(settings: Settings, threads: int = THREADS) -> Flask:
    """`threads`: how many threads answer requests. Call it in the process that serves the app.

    Raises UsageError if the settings name no fleet.
    """
    app = Flask("shoal", static_folder=None)
    app.extensions[NAME] = over = Bridge(settings)
    overviews = job_figures.register(over, app.extensions)
    fleet_metrics.register(over, app.extensions)
    readiness.register(over, app.extensions)
    thread_slots.register(threads, app.extensions)
    request_bodies.register(app.extensions)
    app.config["MAX_CONTENT_LENGTH"] = request_bodies.JSON_BYTES
    # Paths with an extra slash are not found: Werkzeug would redirect to whatever host the client named.
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.before_request(_name_request)
    app.before_request(_refuse_leading_slashes)
    app.after_request(_finish)
    problems.register(app)
    for routes in (*ROUTES, serving(ROUTES)):
        app.register_blueprint(routes.blueprint)
    app.register_blueprint(fleet_dashboard(over, overviews))
    for blueprint in SCRAPYD_BLUEPRINTS:
        app.register_blueprint(blueprint)
    app.wsgi_app = keeping_slashes(app.wsgi_app)  # type: ignore[assignment, method-assign]
    return app


def request_id() -> str:
    """The id of the current request: the caller's, if it sent one."""
    name: str = g.request_id
    return name


def _name_request() -> None:
    given = request.headers.get(REQUEST_ID, "")
    g.request_id = given if _GIVEN_ID.fullmatch(given) else uuid4().hex
    g.began_at = time.monotonic()
    telemetry.request_id.set(g.request_id)


def _refuse_leading_slashes() -> None:
    """Werkzeug would treat `//api/v1/jobs` as `/api/v1/jobs`, which bypasses a proxy's rules for paths."""
    if request.environ["PATH_INFO"].startswith("//"):
        raise NotFound()


def _finish(response: Response) -> Response:
    response.headers[REQUEST_ID] = request_id()
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.setdefault("Cache-Control", "no-store")
    _log_answer(response)
    return rate_limits.add_headers(response)


def _log_answer(response: Response) -> None:
    """Logs changes and refusals; plain reads only at debug level."""
    status, path = response.status_code, with_slashes(request.path)
    is_read = request.method in ("GET", "HEAD") and (status < 400 or not request.path.startswith(API))
    (log.debug if is_read else log.info)(
        "request_answered",
        f"{request.method} {path} {status}",
        method=request.method,
        path=path,
        status=status,
        duration_ms=round((time.monotonic() - g.began_at) * 1000, 1),
        **({"caller": g.token.name} if "token" in g else {}),
        **({"job": id} if (id := _job_of_path()) else {}),
    )


def _job_of_path() -> str | None:
    """The id of the job; as the caller wrote it, if it was not found."""
    named = request.view_args or {}
    return g.get("job_id", named.get("id")) if request.path.startswith(f"{API}/jobs/") else None
