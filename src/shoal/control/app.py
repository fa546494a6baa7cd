"""The Flask app of the API: its routes, and what every answer has."""

from __future__ import annotations

import re
import time
from uuid import uuid4

from flask import Flask, Response, g, request
from werkzeug.exceptions import NotFound

from shoal import telemetry
from shoal.control import bodies, figures, limits, problems, readiness, slots
from shoal.control import metrics as told
from shoal.control.api import (
    changes,
    exclusions,
    hosts,
    jobs,
    metrics,
    pages,
    records,
    schedules,
    scrape,
    status,
    tokens,
    urls,
    whole,
    workers,
)
from shoal.control.bridge import NAME, Bridge
from shoal.control.openapi import serving
from shoal.control.routes import API, Routes
from shoal.settings import Settings

REQUEST_ID = "X-Request-Id"
THREADS = 32
_GIVEN_ID = re.compile(r"[\x21-\x7e]{1,128}")

log = telemetry.Events(__name__)

ROUTES: tuple[Routes, ...] = (
    jobs.routes,
    changes.routes,
    urls.routes,
    scrape.routes,
    records.routes,
    pages.routes,
    whole.routes,
    hosts.routes,
    exclusions.routes,
    workers.routes,
    schedules.routes,
    tokens.routes,
    status.routes,
    metrics.routes,
)


def create_app(settings: Settings, threads: int = THREADS) -> Flask:
    """`threads`: how many answer requests. To be called in the process that serves it.

    Raises UsageError if the settings name no fleet.
    """
    app = Flask("shoal", static_folder=None)
    app.extensions[NAME] = over = Bridge(settings)
    figures.register(over, app.extensions)
    told.register(over, app.extensions)
    readiness.register(over, app.extensions)
    slots.register(threads, app.extensions)
    bodies.register(app.extensions)
    app.config["MAX_CONTENT_LENGTH"] = bodies.JSON_BYTES
    # A path with a slash too many is no other path: Werkzeug would redirect to whatever host the client named.
    app.url_map.strict_slashes = True
    app.url_map.merge_slashes = False
    app.url_map.redirect_defaults = False
    app.before_request(_name_request)
    app.before_request(_refuse_leading_slashes)
    app.after_request(_finish)
    problems.register(app)
    for routes in (*ROUTES, serving(ROUTES)):
        app.register_blueprint(routes.blueprint)
    return app


def request_id() -> str:
    """Of the current request: the caller's, if it gave one."""
    name: str = g.request_id
    return name


def _name_request() -> None:
    given = request.headers.get(REQUEST_ID, "")
    g.request_id = given if _GIVEN_ID.fullmatch(given) else uuid4().hex
    g.began_at = time.monotonic()
    telemetry.request_id.set(g.request_id)


def _refuse_leading_slashes() -> None:
    """Werkzeug would take `//api/v1/jobs` for `/api/v1/jobs`, and a proxy's rules for paths would not have seen it."""
    if request.environ["PATH_INFO"].startswith("//"):
        raise NotFound()


def _finish(response: Response) -> Response:
    response.headers[REQUEST_ID] = request_id()
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.setdefault("Cache-Control", "no-store")
    _log_answer(response)
    return limits.tell(response)


def _log_answer(response: Response) -> None:
    """What changes something, and what is refused; that somebody looked only if everything is wanted."""
    status = response.status_code
    looked = request.method in ("GET", "HEAD") and (status < 400 or not request.path.startswith(API))
    (log.debug if looked else log.info)(
        "request_answered",
        f"{request.method} {request.path} {status}",
        method=request.method,
        path=request.path,
        status=status,
        duration_ms=round((time.monotonic() - g.began_at) * 1000, 1),
        **({"caller": g.token.name} if "token" in g else {}),
        **({"job": id} if (id := _job_of_path()) else {}),
    )


def _job_of_path() -> str | None:
    named = request.view_args or {}
    return named.get("id") if request.path.startswith(f"{API}/jobs/") else None
