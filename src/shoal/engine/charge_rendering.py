"""What a page that a browser loads costs its host."""

from __future__ import annotations

from shoal.fetch.exchange import Exchange
from shoal.urls import domain_of

FREE_REQUESTS = 5
"""Requests of a page to its own host, besides the document, that cost the host's clock nothing."""
MOST_CHARGED = 60


def charged_requests(host: str, answer: Exchange) -> int:
    """For how many requests of the page itself its host gets a rest afterwards."""
    if answer.rendered is None:
        return 0
    sent = sum(n for name, n in answer.rendered.requests.items() if host in (name, domain_of(name)))
    return max(0, min(sent - 1 - FREE_REQUESTS, MOST_CHARGED))
