"""What the reactor's thread hands to the frontier's thread, in an order that loses nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from shoal.model import Landing
from shoal.scrapy.group_requests import FoundRequest
from shoal.scrapy.held_request import HeldRequest
from shoal.scrapy.inline_leases import InlineRequest


@dataclass(slots=True)
class Sendings:
    landings: list[Landing] = field(default_factory=list)
    crawl_delays: dict[str, float] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    asked: list[InlineRequest] = field(default_factory=list)
    """Requests that wait for a lease of their own."""
    left: list[int] = field(default_factory=list)
    """The tokens of such leases whose requests have ended."""
    found: list[FoundRequest] = field(default_factory=list)
    ended: list[HeldRequest] = field(default_factory=list)
    """Requests that Scrapy is done with. What they found is in `found` of the same or of earlier sendings."""

    def add(self, newer: Sendings) -> None:
        self.landings += newer.landings
        self.crawl_delays |= newer.crawl_delays
        self.cookies |= newer.cookies
        self.asked += newer.asked
        self.left += newer.left
        self.found += newer.found
        self.ended += newer.ended

    @property
    def is_empty(self) -> bool:
        inline = self.asked or self.left
        return not (self.landings or self.crawl_delays or self.cookies or inline or self.found or self.ended)


class Outbox:
    def __init__(self) -> None:
        self._lock = Lock()
        self._sendings = Sendings()
        self.activity = 0
        """Counts what was put in and what Scrapy took: the crawl is idle only if it has not changed meanwhile."""

    def land(self, landing: Landing) -> None:
        with self._lock:
            self._sendings.landings.append(landing)

    def slow_down(self, host: str, crawl_delay_s: float) -> None:
        with self._lock:
            self._sendings.crawl_delays[host] = crawl_delay_s

    def keep_cookies(self, cookies: dict[str, str]) -> None:
        with self._lock:
            self._sendings.cookies |= cookies

    def ask(self, request: InlineRequest) -> None:
        with self._lock:
            self._sendings.asked.append(request)

    def leave(self, token: int) -> None:
        with self._lock:
            self._sendings.left.append(token)

    def offer(self, found: FoundRequest) -> None:
        with self._lock:
            self._sendings.found.append(found)
            self.activity += 1

    def end(self, held: HeldRequest) -> None:
        with self._lock:
            self._sendings.ended.append(held)
            self.activity += 1

    def take(self) -> tuple[Sendings, int]:
        with self._lock:
            taken, self._sendings = self._sendings, Sendings()
            return taken, self.activity
