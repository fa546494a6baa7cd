"""Links that lead nowhere: redirect loops, redirects out of HTTP, growing paths and queries, calendars, session ids."""

from __future__ import annotations

import datetime
import itertools
import secrets
from urllib.parse import quote

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import Answer, Site, Visit, not_found, redirect

HOPS = 30
MAX_HOPS = 20
_NOT_HTTP = {
    "file": "file:///etc/passwd",
    "data": "data:text/html,<a href=/private/data.html>x</a>",
    "javascript": "javascript:alert(1)",
    "gopher": "gopher://127.0.0.1:70/1",
}
SHELVES = tuple(f"/shelf/{number}.html" for number in range(1, 6))
MONTHS_AHEAD = 24
"""How far into the future a visitor may be led."""


def bad_redirects() -> list[Behaviour]:
    out_of_http = (_out_of_http(name, url) for name, url in _NOT_HTTP.items())
    return [_long_way(), _circle(), _itself(), _insisting(), *out_of_http]


def _long_way() -> Behaviour:
    paths = [f"/hops/{number}" for number in range(HOPS)]
    moves = dict(itertools.pairwise(paths))
    routes: dict[str, Site] = {path: redirect(302, there) for path, there in moves.items()}
    followed = dict(itertools.islice(moves.items(), MAX_HOPS))
    truth = ExpectedResults(redirects=followed, broken={paths[MAX_HOPS]: "too_many_redirects"})
    return Behaviour("A long way", paths[0], routes, truth)


def _circle() -> Behaviour:
    routes: dict[str, Site] = {"/circle/a": redirect(301, "/circle/b"), "/circle/b": redirect(308, "/circle/a")}
    truth = ExpectedResults(redirects={"/circle/a": "/circle/b"}, broken={"/circle/b": "redirect_loop"})
    return Behaviour("Round in circles", "/circle/a", routes, truth)


def _itself() -> Behaviour:
    path = "/circle/itself"
    return Behaviour("To itself", path, {path: redirect(302, path)}, ExpectedResults(broken={path: "redirect_loop"}))


def _insisting() -> Behaviour:
    """Redirects everyone to a URL with a session id, and requires it in every URL."""
    path = "/members.html"

    def members(visit: Visit) -> Answer:
        return _links(SHELVES[0]) if visit.query else redirect(302, f"{path}?PHPSESSID={_session_id()}")(visit)

    return Behaviour("Members", path, {path: members}, ExpectedResults(broken={path: "redirect_loop"}))


def _out_of_http(name: str, url: str) -> Behaviour:
    path = f"/elsewhere/{name}"
    return Behaviour(f"To {name}:", path, {path: redirect(302, url)}, ExpectedResults(redirects={path: url}))


def growing() -> list[Behaviour]:
    """Traps that can be recognized from the URL."""
    return [
        Behaviour("Ever deeper", "/deeper/", {"/deeper/*": _deeper}, ExpectedResults(endless={"/deeper/": 10})),
        Behaviour("Ever longer", "/longer/x", {"/longer/*": _longer}, ExpectedResults(endless={"/longer/": 16})),
        Behaviour("Ever further down", "/stairs/", {"/stairs/*": _stairs}, ExpectedResults(endless={"/stairs/": 30})),
        Behaviour(
            "Ever more filters", "/filters", {"/filters": _more_filters}, ExpectedResults(endless={"/filters": 30})
        ),
        Behaviour("Log in, then on", "/login", {"/login": _login}, ExpectedResults(endless={"/login": 10})),
        Behaviour(
            "A calendar",
            "/calendar/",
            {"/calendar/*": _calendar},
            ExpectedResults(endless={"/calendar/": MONTHS_AHEAD + 3}),
        ),
        Behaviour("Shelves", SHELVES[0], {"/shelf/*": _shelf}, ExpectedResults(pages=dict.fromkeys(SHELVES, 200))),
    ]


def endless_sessions() -> list[Behaviour]:
    """Each URL looks ordinary, so that only a limit ends them."""
    sessions = itertools.count(1)

    def session(visit: Visit) -> Answer:
        links = (f"/session/{next(sessions)}/list.html?order={order}" for order in ("name", "price", "age"))
        return _links(*links)

    return [
        Behaviour("A shop with visitors by number", "/session/0/list.html", {"/session/*": session}),
    ]


def _deeper(visit: Visit) -> Answer:
    return _links("deeper/")


def _longer(visit: Visit) -> Answer:
    """One path segment, so that only its length gives it away."""
    return _links(visit.path + visit.path.removeprefix("/longer/") * 2)


def _stairs(visit: Visit) -> Answer:
    """No segment is repeated, so that only their number gives it away."""
    return _links(f"{visit.path}{visit.path.count('/')}/")


def _login(visit: Visit) -> Answer:
    """Remembers where the visitor came from, which is this page itself."""
    return _links(f"/login?next={quote(visit.target, safe='')}")


def _more_filters(visit: Visit) -> Answer:
    return _links(f"/filters?{visit.query}&f{visit.query.count('f')}=1".replace("?&", "?"))


def _calendar(visit: Visit) -> Answer:
    """Links to the next month, and to the same month a year later."""
    try:
        month = datetime.datetime.strptime(visit.path, "/calendar/%Y/%m/")
    except ValueError:
        month = datetime.datetime.now()
    ahead = (month.year * 12 + month.month - 1 + months for months in (1, 12))
    return _links(*(f"/calendar/{there // 12}/{there % 12 + 1:02d}/" for there in ahead))


def _shelf(visit: Visit) -> Answer:
    """Five pages; each link to them has another session id."""
    if visit.path not in SHELVES:
        return not_found(visit)
    links = (f"{path};jsessionid={_session_id()}?sid={_session_id()}" for path in SHELVES)
    return _links(*links)


def _session_id() -> str:
    return secrets.token_hex(16)


def _links(*hrefs: str) -> Answer:
    links = "".join(f'<a href="{href.replace("&", "&amp;")}">on</a>\n' for href in hrefs)
    return Answer(200, f"<!doctype html><title>On and on</title>{links}".encode())
