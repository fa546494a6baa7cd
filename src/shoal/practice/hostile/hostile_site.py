"""The hostile site: each host misbehaves in its own way, except for one.

The first host links to all others. Each has good pages, and one page that most of them forbid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import chain

from shoal.practice.behaviour import Behaviour
from shoal.practice.expected_results import ExpectedResults
from shoal.practice.hostile import robots_files, sitemaps
from shoal.practice.hostile.bad_http import bad_framing, slow_framing
from shoal.practice.hostile.broken_compression import broken_codings
from shoal.practice.hostile.costly_pages import costly
from shoal.practice.hostile.decompression_bombs import bombs
from shoal.practice.hostile.endless_links import bad_redirects, endless_sessions, growing
from shoal.practice.hostile.hard_to_parse import hard_to_parse
from shoal.practice.hostile.metadata_addresses import NEVER, REFUSED, metadata_links
from shoal.practice.request import Answer, Routes, Site, Visit

GOOD_PATHS = tuple(f"/good/{number}.html" for number in range(1, 21))
PRIVATE = "/private/orders.html"
SILENT, FIRST_MORE = "127.0.0.8", 9
_GOOD = ExpectedResults(pages=dict.fromkeys(("/", *GOOD_PATHS), 200))
_FORBIDDING = _GOOD | ExpectedResults(dropped={PRIVATE: "robots"})


@dataclass(frozen=True)
class HostileHost:
    address: str
    robots: Mapping[str, Site]
    truth: ExpectedResults
    """Without the expected results of its behaviours."""
    behaviours: list[Behaviour] = field(default_factory=list)

    def full_truth(self) -> ExpectedResults:
        truth = self.truth
        for behaviour in self.behaviours:
            truth |= behaviour.truth
        return truth

    def routes(self, neighbours: list[HostileHost]) -> Routes:
        good = chain(GOOD_PATHS, [PRIVATE, *sitemaps.UNREAD, *sitemaps.LISTED_IN_SITEMAPS.unlinked])
        table: dict[str, Site] = dict.fromkeys(good, _good_page)
        for behaviour in self.behaviours:
            table |= behaviour.routes
        return Routes({**table, "/": lambda visit: self._front_page(visit, neighbours), **self.robots})

    def _front_page(self, visit: Visit, neighbours: list[HostileHost]) -> Answer:
        links = [(path, path) for path in (*GOOD_PATHS, *self.truth.dropped)]
        links += [(behaviour.href, behaviour.link_text) for behaviour in self.behaviours]
        links += [(f"{visit.origin(host.address)}/", host.address) for host in neighbours]
        items = "".join(f'<li><a href="{escape(href)}">{escape(text)}</a>\n' for href, text in links)
        return Answer(200, f"<!doctype html><title>Welcome</title><ul>\n{items}</ul>".encode())


@dataclass(frozen=True)
class Hostile:
    hurried: bool = False
    """Leaves out what takes a visitor its full deadline: silence and slow drips."""

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(host.address for host in self._hosts)

    def answer(self, visit: Visit) -> Answer:
        return self._routes[visit.host].answer(visit)

    def truth(self) -> dict[str, ExpectedResults]:
        """The expected results by address, for a crawler that reads sitemaps and has a page limit.

        One of the addresses has no server, and the crawler must not connect to it.
        """
        return {host.address: host.full_truth() for host in self._hosts} | {NEVER: REFUSED}

    @cached_property
    def _hosts(self) -> list[HostileHost]:
        hosts = [
            self._worst(),
            HostileHost("127.0.0.2", {robots_files.ROBOTS: robots_files.plain_robots}, _FORBIDDING),
            HostileHost("127.0.0.3", {robots_files.ROBOTS: robots_files.huge_robots}, _FORBIDDING),
            HostileHost("127.0.0.4", {robots_files.ROBOTS: robots_files.page_for_robots}, _GOOD),
            HostileHost("127.0.0.5", robots_files.moved_robots(robots_files.ROBOTS_HOPS), _GOOD),
            HostileHost(
                "127.0.0.6", {robots_files.ROBOTS: robots_files.failing_robots(503)}, ExpectedResults(dead={"/": 503})
            ),
            HostileHost("127.0.0.7", {robots_files.ROBOTS: robots_files.plain_robots}, _FORBIDDING, endless_sessions()),
            *_more_robots_hosts(),
        ]
        if not self.hurried:
            silent = {robots_files.ROBOTS: robots_files.silent_robots}
            hosts.append(HostileHost(SILENT, silent, ExpectedResults(broken={"/": "timeout"})))
        return hosts

    def _worst(self) -> HostileHost:
        behaviours = [
            *bombs(),
            *broken_codings(),
            *bad_framing(),
            *bad_redirects(),
            *growing(),
            *hard_to_parse(),
            *costly(),
            *metadata_links(),
        ]
        if not self.hurried:
            behaviours += slow_framing()
        named = sitemaps.wild_sitemaps()
        robots = {robots_files.ROBOTS: robots_files.robots_with(named), **named, **sitemaps.deeper_sitemaps()}
        return HostileHost("127.0.0.1", robots, _FORBIDDING | sitemaps.LISTED_IN_SITEMAPS, behaviours)

    @cached_property
    def _routes(self) -> dict[str, Routes]:
        first, *others = self._hosts
        return {first.address: first.routes(others)} | {host.address: host.routes([]) for host in others}


def _more_robots_hosts() -> list[HostileHost]:
    """More kinds of robots.txt, one per host."""
    refusing = ExpectedResults(dropped={"/": "address_refused"})
    keep_away = ExpectedResults(dropped=dict.fromkeys(("/", sitemaps.USUAL), "robots"))
    hosts: list[tuple[Mapping[str, Site], ExpectedResults]] = [
        (robots_files.moved_robots(robots_files.FOLLOWED_HOPS), _FORBIDDING),
        ({robots_files.ROBOTS: robots_files.many_rules}, _FORBIDDING),
        ({robots_files.ROBOTS: robots_files.failing_robots(429)}, ExpectedResults(dead={"/": 429})),
        ({robots_files.ROBOTS: robots_files.torn_robots}, ExpectedResults(broken={"/": "undecodable"})),
        ({robots_files.ROBOTS: robots_files.no_robots}, ExpectedResults(broken={"/": "protocol"})),
        ({robots_files.ROBOTS: robots_files.robots_at_never()}, refusing),
        ({robots_files.ROBOTS: robots_files.delaying_robots("301"), sitemaps.USUAL: sitemaps.empty}, keep_away),
        ({robots_files.ROBOTS: robots_files.delaying_robots("9" * 309), sitemaps.USUAL: sitemaps.empty}, keep_away),
    ]
    return [HostileHost(f"127.0.0.{number}", robots, truth) for number, (robots, truth) in enumerate(hosts, FIRST_MORE)]


def _good_page(visit: Visit) -> Answer:
    return Answer(200, f'<!doctype html><title>{visit.path}</title><h1>All is well</h1><a href="/">Home</a>'.encode())
