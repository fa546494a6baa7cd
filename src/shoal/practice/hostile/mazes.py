"""Ways that lead nowhere: redirects in circles and out of HTTP, paths and queries that grow, calendars, session ids."""

from __future__ import annotations

import datetime
import itertools
import secrets
from urllib.parse import quote

from shoal.practice.habits import Habit
from shoal.practice.truth import HostTruth
from shoal.practice.visit import Answer, Site, Visit, not_found, redirect

HOPS = 30
MAX_HOPS = 20
_ELSEWHERE = {
    "file": "file:///etc/passwd",
    "data": "data:text/html,<a href=/private/data.html>x</a>",
    "javascript": "javascript:alert(1)",
    "gopher": "gopher://127.0.0.1:70/1",
}
SHELVES = tuple(f"/shelf/{number}.html" for number in range(1, 6))
MONTHS_AHEAD = 24
"""As far as a visitor may be led into the future."""


def bad_redirects() -> list[Habit]:
    elsewhere = (_out_of_http(name, url) for name, url in _ELSEWHERE.items())
    return [_long_way(), _circle(), _itself(), _insisting(), *elsewhere]


def _long_way() -> Habit:
    paths = [f"/hops/{number}" for number in range(HOPS)]
    moves = dict(itertools.pairwise(paths))
    routes: dict[str, Site] = {path: redirect(302, there) for path, there in moves.items()}
    followed = dict(itertools.islice(moves.items(), MAX_HOPS))
    truth = HostTruth(redirects=followed, broken={paths[MAX_HOPS]: "too_many_redirects"})
    return Habit("A long way", paths[0], routes, truth)


def _circle() -> Habit:
    routes: dict[str, Site] = {"/circle/a": redirect(301, "/circle/b"), "/circle/b": redirect(308, "/circle/a")}
    truth = HostTruth(redirects={"/circle/a": "/circle/b"}, broken={"/circle/b": "redirect_loop"})
    return Habit("Round in circles", "/circle/a", routes, truth)


def _itself() -> Habit:
    path = "/circle/itself"
    return Habit("To itself", path, {path: redirect(302, path)}, HostTruth(broken={path: "redirect_loop"}))


def _insisting() -> Habit:
    """Sends everyone on to a session, and wants to see it in every URL."""
    path = "/members.html"

    def members(visit: Visit) -> Answer:
        return _links(SHELVES[0]) if visit.query else redirect(302, f"{path}?PHPSESSID={_session_id()}")(visit)

    return Habit("Members", path, {path: members}, HostTruth(broken={path: "redirect_loop"}))


def _out_of_http(name: str, url: str) -> Habit:
    path = f"/elsewhere/{name}"
    return Habit(f"To {name}:", path, {path: redirect(302, url)}, HostTruth(redirects={path: url}))


def growing() -> list[Habit]:
    """Each URL shows that it leads nowhere."""
    return [
        Habit("Ever deeper", "/deeper/", {"/deeper/*": _deeper}, HostTruth(endless={"/deeper/": 10})),
        Habit("Ever longer", "/longer/x", {"/longer/*": _longer}, HostTruth(endless={"/longer/": 16})),
        Habit("Ever further down", "/stairs/", {"/stairs/*": _stairs}, HostTruth(endless={"/stairs/": 30})),
        Habit("Ever more filters", "/filters", {"/filters": _more_filters}, HostTruth(endless={"/filters": 30})),
        Habit("Log in, then on", "/login", {"/login": _login}, HostTruth(endless={"/login": 10})),
        Habit(
            "A calendar", "/calendar/", {"/calendar/*": _calendar}, HostTruth(endless={"/calendar/": MONTHS_AHEAD + 3})
        ),
        Habit("Shelves", SHELVES[0], {"/shelf/*": _shelf}, HostTruth(pages=dict.fromkeys(SHELVES, 200))),
    ]


def unending() -> list[Habit]:
    """Each URL looks like any other, so only a limit ends them."""
    sessions = itertools.count(1)

    def session(visit: Visit) -> Answer:
        links = (f"/session/{next(sessions)}/list.html?order={order}" for order in ("name", "price", "age"))
        return _links(*links)

    return [
        Habit("A shop with visitors by number", "/session/0/list.html", {"/session/*": session}),
    ]


def _deeper(visit: Visit) -> Answer:
    return _links("deeper/")


def _longer(visit: Visit) -> Answer:
    """One name, so that nothing but its length tells."""
    return _links(visit.path + visit.path.removeprefix("/longer/") * 2)


def _stairs(visit: Visit) -> Answer:
    """No part twice, so that nothing but their number tells."""
    return _links(f"{visit.path}{visit.path.count('/')}/")


def _login(visit: Visit) -> Answer:
    """Remembers where the visitor came from, which is here."""
    return _links(f"/login?next={quote(visit.target, safe='')}")


def _more_filters(visit: Visit) -> Answer:
    return _links(f"/filters?{visit.query}&f{visit.query.count('f')}=1".replace("?&", "?"))


def _calendar(visit: Visit) -> Answer:
    """The next month, and the same a year later."""
    try:
        month = datetime.datetime.strptime(visit.path, "/calendar/%Y/%m/")
    except ValueError:
        month = datetime.datetime.now()
    ahead = (month.year * 12 + month.month - 1 + months for months in (1, 12))
    return _links(*(f"/calendar/{there // 12}/{there % 12 + 1:02d}/" for there in ahead))


def _shelf(visit: Visit) -> Answer:
    """Five pages, each link to which carries another session."""
    if visit.path not in SHELVES:
        return not_found(visit)
    links = (f"{path};jsessionid={_session_id()}?sid={_session_id()}" for path in SHELVES)
    return _links(*links)


def _session_id() -> str:
    return secrets.token_hex(16)


def _links(*hrefs: str) -> Answer:
    links = "".join(f'<a href="{href.replace("&", "&amp;")}">on</a>\n' for href in hrefs)
    return Answer(200, f"<!doctype html><title>On and on</title>{links}".encode())
