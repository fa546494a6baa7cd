"""Ways that lead nowhere: redirects in circles and out of HTTP, paths and queries that grow, calendars, session ids."""

from __future__ import annotations

import datetime
import itertools

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
_FIRST_DAY = datetime.date(2026, 1, 1)


def bad_redirects() -> list[Habit]:
    return [_long_way(), _circle(), _itself(), *(_out_of_http(name, url) for name, url in _ELSEWHERE.items())]


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


def _out_of_http(name: str, url: str) -> Habit:
    path = f"/elsewhere/{name}"
    return Habit(f"To {name}:", path, {path: redirect(302, url)}, HostTruth(redirects={path: url}))


def growing() -> list[Habit]:
    """Each URL shows that it leads nowhere."""
    return [
        Habit("Ever deeper", "/deeper/", {"/deeper/*": _deeper}, HostTruth(endless={"/deeper/": 10})),
        Habit("Ever longer", "/longer/x", {"/longer/*": _longer}, HostTruth(endless={"/longer/": 16})),
        Habit("Ever more filters", "/filters", {"/filters": _more_filters}, HostTruth(endless={"/filters": 30})),
    ]


def unending() -> list[Habit]:
    """Each URL looks like any other, so only a limit ends them."""
    sessions = itertools.count(1)

    def session(visit: Visit) -> Answer:
        links = (f"/session/{next(sessions)}/list.html?order={order}" for order in ("name", "price", "age"))
        return _links(*links)

    return [
        Habit("A calendar", f"/calendar/{_FIRST_DAY}.html", {"/calendar/*": _calendar}),
        Habit("A shop with session ids", "/session/0/list.html", {"/session/*": session}),
    ]


def _deeper(visit: Visit) -> Answer:
    return _links("deeper/")


def _longer(visit: Visit) -> Answer:
    return _links(visit.path * 2 if len(visit.path) < 100 else visit.path + visit.path[-100:].replace("/", "-") * 4)


def _more_filters(visit: Visit) -> Answer:
    return _links(f"/filters?{visit.query}&f{visit.query.count('f')}=1".replace("?&", "?"))


def _calendar(visit: Visit) -> Answer:
    try:
        day = datetime.date.fromisoformat(visit.path.removeprefix("/calendar/").removesuffix(".html"))
    except ValueError:
        return not_found(visit)
    return _links(*(f"/calendar/{day + datetime.timedelta(days)}.html" for days in (1, 7, 30)))


def _links(*hrefs: str) -> Answer:
    links = "".join(f'<a href="{href.replace("&", "&amp;")}">on</a>\n' for href in hrefs)
    return Answer(200, f"<!doctype html><title>On and on</title>{links}".encode())
