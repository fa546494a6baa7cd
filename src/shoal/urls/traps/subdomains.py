"""Endless host names: a DNS wildcard answers for every subdomain, and each page links to more of them.

The memory is bounded and ends with the process. Then a domain has its full limit again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shoal.urls.fingerprint import domain_of, split_port

MOST_SUBDOMAINS = 1_000
"""Per registrable domain."""
SAME_LABEL = 3
"""How often a label in one name is too often: www.www.www.example.com. Twice is common."""
REMEMBERED = 100_000
"""Hosts over all domains: 10 MB at most."""


class Subdomains:
    def __init__(self, capacity: int = REMEMBERED) -> None:
        self._capacity = capacity
        self._known: set[str] = set()
        self._counts: Counter[str] = Counter()

    def too_many(self, url: str) -> str | None:
        host = _host(url)
        if host in self._known:
            return None
        if why := _repeats(host):
            return why
        if len(self._known) >= self._capacity:
            self._known.clear()
            self._counts.clear()
        domain = domain_of(host)
        if split_port(host)[0] != domain:
            if self._counts[domain] >= MOST_SUBDOMAINS:
                return _why(domain)
            self._counts[domain] += 1
        self._known.add(host)
        return None


def likely_subdomain_trap(url: str, trapped: Iterable[str]) -> str | None:
    """Why a URL will probably be skipped like the given ones."""
    domain = domain_of(_host(url))
    alike = any(domain_of(_host(other)) == domain for other in trapped)
    return f"{_why(domain)}, unless it was among the first" if alike else None


def _repeats(host: str) -> str | None:
    labels = split_port(host)[0].split(".")
    if len(labels) - len(set(labels)) < SAME_LABEL - 1 or labels[-1].isdigit():
        return None
    [(label, times)] = Counter(labels).most_common(1)
    return f"{label} {times} times in its host (limit {SAME_LABEL - 1})" if times >= SAME_LABEL else None


def _host(url: str) -> str:
    return url.split("/", 3)[2]


def _why(domain: str) -> str:
    return f"{MOST_SUBDOMAINS:,} subdomains of {domain} are known (the limit)"
