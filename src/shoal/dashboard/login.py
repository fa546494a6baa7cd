"""Logs people in: with a token, or with a link that works once.

The cookie is for this site only, and no script can read it. Browsers keep it only over https or on this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

from flask import Blueprint, Response, abort, g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from shoal.dashboard.sessions import (
    SESSION_S,
    Sessions,
    end_session,
    form_key,
    is_form_key,
    start_session,
    token_of_code,
    token_of_session,
)
from shoal.dashboard.source import Viewer

COOKIE = "shoal_session"
SAID = "shoal_said"
SAID_S = 20
_SAID_CHARS = 500
_OPEN = {"dashboard.login", "dashboard.static"}


def viewer() -> Viewer:
    """Who sent the current request."""
    return cast(Viewer, g.viewer)


class Login:
    def __init__(
        self, sessions: Sessions, viewer_of: Callable[[str], Viewer | None], token_id: Callable[[str], str | None]
    ) -> None:
        """`viewer_of` finds who a token's id stands for; `token_id` is the id of a token that a person typed."""
        self._sessions = sessions
        self._viewer_of = viewer_of
        self._token_id = token_id

    def register(self, blueprint: Blueprint) -> None:
        blueprint.add_url_rule("/login", "login", self.login, methods=["GET", "POST"])
        blueprint.add_url_rule("/logout", "logout", self.logout, methods=["POST"])

    def require(self) -> AnyResponse | None:
        if request.endpoint in _OPEN:
            return None
        secret = request.cookies.get(COOKIE, "")
        token = token_of_session(self._sessions, secret) if secret else None
        found = None if token is None else self._viewer_of(token)
        if found is None:
            return redirect(url_for("dashboard.login", next=_page_behind()), 303)
        if request.method not in ("GET", "HEAD") and not is_form_key(secret, request.form.get("form_key", "")):
            abort(403, "this page was opened in an earlier login: reload it and try again")
        g.viewer, g.form_key = found, form_key(secret)
        return None

    def login(self) -> AnyResponse | tuple[str, int] | str:
        given, code = request.form.get("token", "").strip(), request.form.get("code", "").strip()
        token = self._token_id(given) if given else token_of_code(self._sessions, code) if code else None
        if token is None or self._viewer_of(token) is None:
            return self._login_page()
        response = redirect(_own_path(request.form.get("next", "")), 303)
        _set_cookie(response, start_session(self._sessions, token), SESSION_S)
        return response

    def _login_page(self) -> tuple[str, int] | str:
        if request.method == "GET":
            return render_template("login.html", fault=None, is_safe=_is_safe(), code=request.args.get("code", ""))
        fault = "This token or link is not valid. A link works once, for 15 minutes."
        return render_template("login.html", fault=fault, is_safe=_is_safe(), code=""), 401

    def logout(self) -> AnyResponse:
        end_session(self._sessions, request.cookies.get(COOKIE, ""))
        response = redirect(url_for("dashboard.login"), 303)
        _set_cookie(response, "", 0)
        return response

    def context(self) -> dict[str, Any]:
        said = unquote(request.cookies.get(SAID, ""))
        return {"viewer": g.get("viewer"), "form_key": g.get("form_key", ""), "said": said}


def say(response: AnyResponse, message: str) -> AnyResponse:
    """Shows the message on the pages of the next seconds. In a cookie: a link from elsewhere must not show one."""
    _set_cookie(response, quote(message[:_SAID_CHARS]), SAID_S, SAID)
    return response


def _set_cookie(response: AnyResponse, value: str, seconds: int, name: str = COOKIE) -> None:
    cast(Response, response).set_cookie(
        name, value, max_age=seconds, httponly=True, secure=True, samesite="Strict", path="/"
    )


def _page_behind() -> str:
    """Where to go after the login: an action has no page, but its job has."""
    if request.method in ("GET", "HEAD"):
        return _own_path(request.full_path)
    job = (request.view_args or {}).get("id")
    return "/" if job is None else url_for("dashboard.job", id=job)


def _own_path(path: str) -> str:
    """A path of this site: never a link to another one."""
    parts = urlsplit(path)
    own = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc
    return path.rstrip("?") if own and not path.startswith(("/login", "/logout")) else "/"


def _is_safe() -> bool:
    """Whether the browser will keep the cookie."""
    host = (request.host or "").rpartition(":")[0] or request.host
    return request.is_secure or host in ("127.0.0.1", "localhost", "[::1]")
