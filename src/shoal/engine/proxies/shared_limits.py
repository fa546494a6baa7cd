"""Limits of single proxies that hold over all processes and jobs of a fleet."""

from __future__ import annotations

from typing import Protocol

from shoal.model.proxy_list import Proxy


class SharedLimits(Protocol):
    async def take(self, pool: str, proxy: Proxy) -> float:
        """0 if a request through the proxy may begin; call `give_back` when it has ended. Otherwise the time to wait,
        in seconds."""

    async def give_back(self, pool: str, proxy: Proxy) -> None: ...

    async def renew(self) -> None:
        """Keeps what is taken. Call it every few seconds: what a killed process had taken returns by itself."""
