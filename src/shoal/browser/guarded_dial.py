"""Opens the connections of a page: only to addresses that the guard allows, or through the job's proxy."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

from shoal.browser.upstream_proxy import UpstreamProxy, UpstreamRefused
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import CONNECT_TIMEOUT_S, PROXIED_NAME_S
from shoal.fetch.dns import DnsResolver

MOST_TRIED = 3
"""Addresses of one name that are tried."""
_LOCAL = {"localhost": ("127.0.0.1", "::1")}


class DialRefused(Exception):
    """`kind` is the value of a FailureKind."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


class GuardedDial:
    """For one job; belongs to one event loop."""

    def __init__(self, guard: AddressGuard, names: DnsResolver, proxy: str = "", remote_dns: bool = False) -> None:
        """With `remote_dns`, the proxy looks names up, and nobody here does."""
        self.guard = guard
        self._names = names
        self._proxy = UpstreamProxy(proxy, guard) if proxy else None
        self._remote_dns = remote_dns

    async def connect(self, host: str, port: int) -> tuple[socket.socket, str]:
        """A connected socket and the address that it leads to, which is empty behind a proxy. Raises DialRefused."""
        if self._proxy is not None:
            return await self._through(self._proxy, host, port)
        addresses = await self._addresses(host, port, CONNECT_TIMEOUT_S)
        if not addresses:
            raise DialRefused("dns", f"the name of {host} has no address")
        allowed = [address for address in addresses if self.guard.allows(address)]
        if not allowed:
            raise DialRefused("address_refused", self.guard.refusal)
        detail = ""
        for address in allowed[:MOST_TRIED]:
            try:
                return await open_socket(address, port), address
            except (OSError, TimeoutError) as error:
                detail = str(error) or "no answer"
        raise DialRefused("connect", f"cannot connect to {host}:{port}: {detail}")

    async def _through(self, proxy: UpstreamProxy, host: str, port: int) -> tuple[socket.socket, str]:
        """As for other requests through a proxy: every address of the name here must be allowed."""
        is_looked_up = not self._remote_dns or _is_address(host)
        addresses = await self._addresses(host, port, PROXIED_NAME_S) if is_looked_up else []
        is_allowed = all(map(self.guard.allows, addresses)) if addresses else self.guard.allows_unresolved(host)
        if not is_allowed:
            raise DialRefused("address_refused", self.guard.refusal)
        if not addresses and proxy.needs_address:
            raise DialRefused("dns", f"the name of {host} has no address")
        try:
            return await proxy.connect(addresses[0] if proxy.needs_address else host, port), ""
        except UpstreamRefused as error:
            raise DialRefused("proxy", str(error)) from error

    async def _addresses(self, host: str, port: int, within_s: float) -> list[str]:
        try:
            return [str(ip_address(host))]
        except ValueError:
            pass
        if host == "localhost" or host.endswith(".localhost"):
            return list(_LOCAL["localhost"])
        return [] if host.endswith(".onion") else await self._names.addresses(f"{host}:{port}", within_s)


async def open_socket(address: str, port: int) -> socket.socket:
    """Raises OSError and TimeoutError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    opened.setblocking(False)
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await asyncio.get_running_loop().sock_connect(opened, (address, port))
    except BaseException:
        # Also if the dial is cancelled.
        opened.close()
        raise
    return opened


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
