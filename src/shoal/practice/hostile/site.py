"""The hostile site: hosts that each misbehave in a way of their own, and one among them that does not.

The first links to all others. Good pages stand on each of them, and so does one that most of them forbid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import chain

from shoal.practice.habits import Habit
from shoal.practice.hostile import decrees, sitemaps
from shoal.practice.hostile.bombs import bombs
from shoal.practice.hostile.codings import broken_codings
from shoal.practice.hostile.costly import costly
from shoal.practice.hostile.framing import bad_framing, slow_framing
from shoal.practice.hostile.mazes import bad_redirects, growing, unending
from shoal.practice.hostile.never import NEVER, REFUSED, ways_to_it
from shoal.practice.hostile.twisted import twisted
from shoal.practice.truth import HostTruth
from shoal.practice.visit import Answer, Routes, Site, Visit

GOOD_PATHS = tuple(f"/good/{number}.html" for number in range(1, 21))
PRIVATE = "/private/orders.html"
SILENT, FIRST_MORE = "127.0.0.8", 9
_GOOD = HostTruth(pages=dict.fromkeys(("/", *GOOD_PATHS), 200))
_FORBIDDING = _GOOD | HostTruth(dropped={PRIVATE: "robots"})


@dataclass(frozen=True)
class Host:
    address: str
    robots: Mapping[str, Site]
    truth: HostTruth
    """Of all but its habits."""
    habits: list[Habit] = field(default_factory=list)

    def whole_truth(self) -> HostTruth:
        truth = self.truth
        for habit in self.habits:
            truth |= habit.truth
        return truth

    def routes(self, neighbours: list[Host]) -> Routes:
        good = chain(GOOD_PATHS, [PRIVATE, *sitemaps.TOLD_BY_SITEMAPS.unlinked])
        table: dict[str, Site] = dict.fromkeys(good, _good_page)
        for habit in self.habits:
            table |= habit.routes
        return Routes({**table, "/": lambda visit: self._front_page(visit, neighbours), **self.robots})

    def _front_page(self, visit: Visit, neighbours: list[Host]) -> Answer:
        links = [(path, path) for path in (*GOOD_PATHS, *self.truth.dropped)]
        links += [(habit.href, habit.says) for habit in self.habits]
        links += [(f"{visit.origin(host.address)}/", host.address) for host in neighbours]
        items = "".join(f'<li><a href="{escape(href)}">{escape(says)}</a>\n' for href, says in links)
        return Answer(200, f"<!doctype html><title>Welcome</title><ul>\n{items}</ul>".encode())


@dataclass(frozen=True)
class Hostile:
    hurried: bool = False
    """Leaves out what costs a visitor its whole deadline: silence and drips."""

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(host.address for host in self._hosts)

    def answer(self, visit: Visit) -> Answer:
        return self._routes[visit.host].answer(visit)

    def truth(self) -> dict[str, HostTruth]:
        """By address, what a crawler must make of each host if it reads sitemaps and is told when to stop.

        One of the addresses has no door here, and must not be dialled.
        """
        return {host.address: host.whole_truth() for host in self._hosts} | {NEVER: REFUSED}

    @cached_property
    def _hosts(self) -> list[Host]:
        hosts = [
            self._worst(),
            Host("127.0.0.2", {decrees.ROBOTS: decrees.plain_robots}, _FORBIDDING),
            Host("127.0.0.3", {decrees.ROBOTS: decrees.huge_robots}, _FORBIDDING),
            Host("127.0.0.4", {decrees.ROBOTS: decrees.page_for_robots}, _GOOD),
            Host("127.0.0.5", decrees.moved_robots(decrees.ROBOTS_HOPS), _GOOD),
            Host("127.0.0.6", {decrees.ROBOTS: decrees.failing_robots(503)}, HostTruth(dead={"/": 503})),
            Host("127.0.0.7", {decrees.ROBOTS: decrees.plain_robots}, _FORBIDDING, unending()),
            *_more_decrees(),
        ]
        if not self.hurried:
            silent = {decrees.ROBOTS: decrees.silent_robots}
            hosts.append(Host(SILENT, silent, HostTruth(broken={"/": "timeout"})))
        return hosts

    def _worst(self) -> Host:
        habits = [
            *bombs(),
            *broken_codings(),
            *bad_framing(),
            *bad_redirects(),
            *growing(),
            *twisted(),
            *costly(),
            *ways_to_it(),
        ]
        if not self.hurried:
            habits += slow_framing()
        named = sitemaps.wild_sitemaps()
        told = {decrees.ROBOTS: decrees.robots_with(named), **named, **sitemaps.deeper_sitemaps()}
        return Host("127.0.0.1", told, _FORBIDDING | sitemaps.TOLD_BY_SITEMAPS, habits)

    @cached_property
    def _routes(self) -> dict[str, Routes]:
        first, *others = self._hosts
        return {first.address: first.routes(others)} | {host.address: host.routes([]) for host in others}


def _more_decrees() -> list[Host]:
    """More that a robots.txt may do, a host each."""
    refusing = HostTruth(dropped={"/": "address_refused"})
    keep_away = HostTruth(dropped=dict.fromkeys(("/", sitemaps.USUAL), "robots"))
    told: list[tuple[Mapping[str, Site], HostTruth]] = [
        (decrees.moved_robots(decrees.FOLLOWED_HOPS), _FORBIDDING),
        ({decrees.ROBOTS: decrees.many_rules}, _FORBIDDING),
        ({decrees.ROBOTS: decrees.failing_robots(429)}, HostTruth(dead={"/": 429})),
        ({decrees.ROBOTS: decrees.torn_robots}, HostTruth(broken={"/": "undecodable"})),
        ({decrees.ROBOTS: decrees.no_robots}, HostTruth(broken={"/": "protocol"})),
        ({decrees.ROBOTS: decrees.robots_at_never()}, refusing),
        ({decrees.ROBOTS: decrees.delaying_robots("301"), sitemaps.USUAL: sitemaps.empty}, keep_away),
        ({decrees.ROBOTS: decrees.delaying_robots("9" * 309), sitemaps.USUAL: sitemaps.empty}, keep_away),
    ]
    return [Host(f"127.0.0.{number}", robots, truth) for number, (robots, truth) in enumerate(told, FIRST_MORE)]


def _good_page(visit: Visit) -> Answer:
    return Answer(200, f'<!doctype html><title>{visit.path}</title><h1>All is well</h1><a href="/">Home</a>'.encode())
