"""The address that a connection counts for, when connections of one address are bounded.

A trusted proxy brings many clients, and a Unix socket has no address: neither is bounded as one client.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

_IPV6_PREFIX = 64
"""Whoever has one IPv6 address has all of its network."""


class ClientAddresses:
    def __init__(self, trusted_proxies: Sequence[str]) -> None:
        """Addresses or networks."""
        self._trusted = [ip_network(text, strict=False) for text in trusted_proxies]

    def counted(self, peer: Any) -> str | None:
        """`peer` as `accept` gives it. None: it is not bounded as one client."""
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
