"""The way that a request leaves by."""

from __future__ import annotations

from typing import NamedTuple


class Exit(NamedTuple):
    """The proxy of one request."""

    place: int
    """Of the proxy in the pool; negative without a proxy."""
    url: str
    host: str
    name: str
    remote_dns: bool = False
    session: str = ""
    """What a gateway or provider is told, so that it stays with one address."""
    group: str = ""
    """The session of the job's requests that this one belongs to."""
    region: str = ""
    """The region that was asked for."""


class NoProxy(NamedTuple):
    """No proxy may be used now."""

    wait_s: float


DIRECT = "direct"
"""Name of the way without a proxy, which a job must ask for."""
