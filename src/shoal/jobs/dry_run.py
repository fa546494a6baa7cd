"""Predicts a crawl from its inputs and the robots.txt of their hosts; fetches and stores nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from shoal.engine.robots.check import MAX_CRAWL_DELAY_S, failure_of
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.proxies.exits import NoProxy
from shoal.fetch.proxies.pool import ProxyPool
from shoal.fetch.proxies.provider_fetcher import ProviderFetcher, fetcher_for
from shoal.fetch.robots import RobotsFile, fetch_robots
from shoal.fetch.tls_policy import TlsPolicy
from shoal.model import Input, JobSpec, Limits
from shoal.urls import Exclusions, origin_of

PARALLEL_FETCHES = 20


@dataclass(slots=True)
class HostLoad:
    """The inputs of one host."""

    name: str
    urls: int = 0
    refused: int = 0
    """URLs that robots.txt refuses."""
    refused_sample: str | None = None
    unreachable: int = 0
    """URLs whose robots.txt could not be fetched; `failure` says why."""
    failure: str | None = None
    excluded: int = 0
    """URLs that the operator excludes."""
    crawl_delay_s: float = 0.0

    @property
    def fetchable(self) -> int:
        return self.urls - self.refused - self.unreachable - self.excluded

    def seconds(self, gap_s: float, limits: Limits) -> float:
        """The minimum time for the pages, one after the other."""
        bounds = [limit for limit in (limits.pages, limits.pages_per_host) if limit is not None]
        return min([self.fetchable, *bounds]) * max(gap_s, self.crawl_delay_s)


class DryRun:
    """The hosts, in the order of the inputs; each URL counts once."""

    def __init__(self, inputs: Iterable[Input], exclusions: Exclusions) -> None:
        self.hosts: dict[str, HostLoad] = {}
        self._urls: dict[tuple[str, str], list[str]] = {}
        """(host, origin) -> URLs; a host may have an http and an https origin."""
        for given in inputs:
            if given.target is not None and given.duplicate_of is None:
                url, _, name, *_ = given.target
                host = self.hosts.setdefault(name, HostLoad(name))
                host.urls += 1
                if exclusions.line_for(url):
                    host.excluded += 1
                else:
                    self._urls.setdefault((name, origin_of(url)), []).append(url)

    @property
    def origins(self) -> int:
        return len(self._urls)

    def busiest(self, gap_s: float, limits: Limits) -> HostLoad:
        return max(self.hosts.values(), key=lambda host: (host.seconds(gap_s, limits), host.urls))

    async def fetch_robots_files(self, spec: JobSpec, pool: ProxyPool | None) -> None:
        """Uses the credentials of the inputs, which are in the spec, and the proxies of the job."""
        fetcher = Fetcher(spec.agent, AddressGuard(spec.allow_private), tls=TlsPolicy.of(spec))
        waiting = iter(self._urls.items())

        async def fetch_in_turn() -> None:
            for (name, origin), urls in waiting:
                credentials = spec.credentials.get(origin, "")
                by, proxy, remote_dns = await _way(pool, name, fetcher) if pool else (fetcher, "", False)
                robots = await fetch_robots(by, origin, proxy, credentials, spec.headers, spec.timeout, remote_dns)
                _note(self.hosts[name], replace(robots, agent=spec.user_agent), urls)

        try:
            await asyncio.gather(*(fetch_in_turn() for _ in range(PARALLEL_FETCHES)))
        finally:
            await fetcher.aclose()


async def _way(pool: ProxyPool, host: str, direct: Fetcher) -> tuple[Fetcher | ProviderFetcher, str, bool]:
    """What fetches, the proxy, and whether that looks names up. Waits for a proxy that allows only so many requests a
    second. Nothing is learnt here, so none counts as down."""
    exit = pool.choose(host)
    if isinstance(exit, NoProxy):
        await asyncio.sleep(exit.wait_s)
        return await _way(pool, host, direct)
    pool.end(exit)
    return fetcher_for(pool, exit, direct), exit.url, exit.remote_dns


def _note(host: HostLoad, robots: RobotsFile, urls: list[str]) -> None:
    if robots.unavailable_reason:
        _, _, host.failure = failure_of(robots)
        host.unreachable += len(urls)
        return
    delay_s = robots.rules.crawl_delay_s
    host.crawl_delay_s = max(host.crawl_delay_s, min(delay_s, MAX_CRAWL_DELAY_S))
    refused = urls if delay_s > MAX_CRAWL_DELAY_S else [url for url in urls if not robots.rules.allows(url)]
    if refused:
        host.refused += len(refused)
        host.refused_sample = refused[0]
