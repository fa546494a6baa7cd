"""What a crawl would meet, told from its inputs and the robots.txt of their hosts; nothing else is fetched or kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace

from shoal.engine.permission import MAX_CRAWL_DELAY_S, failure_of
from shoal.fetch.curl import Fetcher
from shoal.fetch.guard import Guard
from shoal.fetch.robots import RobotsFile, fetch_robots
from shoal.model import Input, JobSpec, Limits
from shoal.urls import Exclusions, origin_of

ASKED_AT_ONCE = 20


@dataclass(slots=True)
class HostLoad:
    """What the inputs ask of one host."""

    name: str
    urls: int = 0
    refused: int = 0
    """By robots.txt."""
    refused_sample: str | None = None
    unreachable: int = 0
    """Behind a robots.txt that could not be had; `failure` says why."""
    failure: str | None = None
    excluded: int = 0
    """By the operator."""
    crawl_delay_s: float = 0.0

    @property
    def fetchable(self) -> int:
        return self.urls - self.refused - self.unreachable - self.excluded

    def seconds(self, gap_s: float, limits: Limits) -> float:
        """How long the pages take at least, one after the other."""
        bounds = [limit for limit in (limits.pages, limits.pages_per_host) if limit is not None]
        return min([self.fetchable, *bounds]) * max(gap_s, self.crawl_delay_s)


class DryRun:
    """By host, in the order in which they were met; URLs are counted once."""

    def __init__(self, inputs: Iterable[Input], exclusions: Exclusions) -> None:
        self.hosts: dict[str, HostLoad] = {}
        self._urls: dict[tuple[str, str], list[str]] = {}
        """(host, origin) -> what is asked of it; one host may be asked over http and https."""
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

    async def ask_robots(self, spec: JobSpec) -> None:
        """The spec holds the credentials of the inputs."""
        fetcher = Fetcher(spec.agent, Guard(spec.allow_private))
        waiting = iter(self._urls.items())

        async def ask_in_turn() -> None:
            for (name, origin), urls in waiting:
                proxy = spec.proxies[0] if spec.proxies else ""
                credentials = spec.credentials.get(origin, "")
                robots = await fetch_robots(fetcher, origin, proxy, credentials, spec.headers)
                _note(self.hosts[name], replace(robots, agent=spec.user_agent), urls)

        try:
            await asyncio.gather(*(ask_in_turn() for _ in range(ASKED_AT_ONCE)))
        finally:
            await fetcher.aclose()


def _note(host: HostLoad, robots: RobotsFile, urls: list[str]) -> None:
    if robots.not_now:
        _, _, host.failure = failure_of(robots)
        host.unreachable += len(urls)
        return
    delay_s = robots.rules.crawl_delay_s
    host.crawl_delay_s = max(host.crawl_delay_s, min(delay_s, MAX_CRAWL_DELAY_S))
    refused = urls if delay_s > MAX_CRAWL_DELAY_S else [url for url in urls if not robots.rules.allows(url)]
    if refused:
        host.refused += len(refused)
        host.refused_sample = refused[0]
