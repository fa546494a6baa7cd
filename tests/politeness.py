"""Judges a crawl from the site's side, by the practice site's request log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from shoal.practice import LogEntry

_TRY_AGAIN = {408, 429}


def max_in_window(log: Iterable[LogEntry], host: str, window_s: float = 1.0) -> int:
    """The most requests that began on a host within any window of this length, robots.txt apart."""
    most = 0
    window: deque[float] = deque()
    for start in sorted(entry.t_start for entry in log if entry.host == host and entry.path != "/robots.txt"):
        window.append(start)
        while start - window[0] >= window_s:
            window.popleft()
        most = max(most, len(window))
    return most


def max_in_flight(log: Iterable[LogEntry], host: str) -> int:
    return max((entry.in_flight for entry in log if entry.host == host), default=0)


def assert_polite(log: Sequence[LogEntry], rate: float, per_host: int, delayed_s: float = 0.0) -> None:
    """No host saw over `rate` + 1 requests in any second (rate 0: no matter), nor over `per_host` at once.

    `delayed_s` is how long a request may take from its start to the site's log, when processes wait for the CPU: those
    that follow a delayed one seem to come sooner. Over five seconds this hardly matters.
    """
    hosts = {entry.host for entry in log}
    assert hosts, "nobody visited: there is nothing to judge"
    for host in sorted(hosts):
        for window_s in (1.0, 5.0):
            seen, allowed = max_in_window(log, host, window_s), rate * (window_s + delayed_s) + 1
            assert not rate or seen <= allowed, f"{host} saw {seen} requests in {window_s:g} s, at rate {rate}"
        at_once = max_in_flight(log, host)
        assert at_once <= per_host, f"{host} had {at_once} requests in flight, over its cap of {per_host}"


def fetched_more_than_once(log: Iterable[LogEntry]) -> dict[tuple[str, str], int]:
    """(host, path) -> how often it was given a final answer; those that only asked to be tried again do not count."""
    final = Counter((entry.host, entry.path) for entry in log if _is_final(entry.status))
    return {place: count for place, count in final.items() if count > 1}


def _is_final(status: int | None) -> bool:
    return status is not None and status < 500 and status not in _TRY_AGAIN
