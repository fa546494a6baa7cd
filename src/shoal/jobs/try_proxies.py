"""Fetches one URL through each proxy of a list, once, to see which ones work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.blocks.find_block import find_block
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Failure
from shoal.fetch.proxies.exits import Exit
from shoal.fetch.proxies.provider_fetcher import ProviderFetcher
from shoal.model.proxy_list import Proxy

SESSION = "test"
AT_ONCE = 8
"""The site sees no more requests at a time."""


@dataclass(frozen=True, slots=True)
class ProxyTrial:
    proxy: str
    ok: bool
    status: int | None
    latency_s: float
    detail: str


def _fetcher_of(proxy: Proxy, fetcher: Fetcher, region: str) -> Fetcher | ProviderFetcher:
    if proxy.recipe is None:
        return fetcher
    exit = Exit(0, proxy.url, "", proxy.name, session=SESSION)
    return ProviderFetcher(fetcher, proxy.recipe, exit, region or proxy.region)


async def try_proxies(
    proxies: Sequence[Proxy], url: str, agent: str, allow_private: bool, region: str, timeout_s: float
) -> AsyncGenerator[ProxyTrial, None]:
    """In the order in which they end."""
    fetcher = Fetcher(agent, AddressGuard(allow_private))
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(proxy: Proxy) -> ProxyTrial:
        async with slots:
            call = Fetch(
                url,
                proxy=proxy.url_for(SESSION, region),
                remote_dns=proxy.remote_dns,
                deadline_s=timeout_s,
                max_bytes=1_000_000,
                truncate=True,
            )
            answer = await _fetcher_of(proxy, fetcher, region).fetch(call)
        if isinstance(answer, Failure):
            return ProxyTrial(proxy.name, False, None, answer.latency_s, answer.detail)
        block = find_block(answer)
        is_good = block is None and answer.status < 400
        detail = block.words if block else f"{len(answer.body):,} bytes"
        return ProxyTrial(proxy.name, is_good, answer.status, answer.latency_s, detail)

    try:
        for ended in asyncio.as_completed([one(proxy) for proxy in proxies if proxy.serves(region)]):
            yield await ended
    finally:
        await fetcher.aclose()
