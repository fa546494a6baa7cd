"""The client address under which a connection counts for the limits per address.

A trusted proxy carries many clients, and a Unix socket has no address: neither counts as one client.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

_IPV6_PREFIX = 64
"""A client with one IPv6 address usually has its whole /64 network."""


class ClientAddresses:
    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        """Addresses or networks."""
        self._trusted = [ip_network(text, strict=False) for text in trusted_proxies]

    def counted(self, peer: Any) -> str | None:
        """`peer` is from `socket.accept`. None: no limit per address applies."""
        if not isinstance(peer, tuple):
            return None
        address = ip_address(peer[0].partition("%")[0])
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        if any(address in network for network in self._trusted):
            return None
        if isinstance(address, IPv6Address):
            return str(ip_network((address, _IPV6_PREFIX), strict=False))
        return str(address)
