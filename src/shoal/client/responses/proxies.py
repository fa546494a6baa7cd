"""Answers about pools of proxies."""

from __future__ import annotations

from typing import Literal

from shoal.client.responses.typed_dict import TypedDict


class ProxyNumbers(TypedDict):
    """What came of requests."""

    requests: int
    successes: int
    failures: int
    blocks: int
    success_share: float | None
    latency_p50_s: float | None
    """The upper bound of its class, as the next one."""
    latency_p95_s: float | None
    bytes: int
    cost: float


class ProxyReport(ProxyNumbers):
    """One proxy, at all hosts."""

    proxy: str
    region: str
    provider: str
    tier: int
    state: Literal["new", "works", "failed", "cooling"]
    """failed: the next request finds out whether it works again."""
    cooling_until: str | None
    reason: str | None
    """Why it cools."""


class ProviderReport(ProxyNumbers):
    """All proxies of one provider."""

    provider: str


class HostProxies(ProxyNumbers):
    """All proxies at one host."""

    host: str
    best_proxy: str
    best_provider: str


class ProxyPool(TypedDict):
    """How the proxies of a pool work."""

    pool: str
    source: Literal["settings", "store", "job"]
    error: str | None
    """Why its list cannot be used."""
    proxies: list[ProxyReport]
    providers: list[ProviderReport]
    """Best first."""
    hosts: list[HostProxies]
    """Those with most requests first."""


class ProxyPoolSummary(TypedDict):
    pool: str
    source: Literal["settings", "store", "job"]
    error: str | None
    """Why its list cannot be used."""
    proxies: int
    cooling: int
    requests: int
    success_share: float | None
    bytes: int
    cost: float


class ProxyPoolList(TypedDict):
    """All pools of proxies."""

    pools: list[ProxyPoolSummary]
