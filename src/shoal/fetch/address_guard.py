"""Which addresses Shoal may connect to.

Only globally routable ones, unless the operator allows private ones. Some are always refused: link-local addresses,
the services that a cloud provides to its machines (metadata, agents), multicast, reserved and unspecified addresses.
If an IPv6 address contains an IPv4 address, that one decides.

A proxy resolves names itself. So for a request through a proxy, the addresses that the name has here decide. A name
without an address here goes to the proxy, unless it belongs to a private network or a metadata service.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import ada_url

Address = IPv4Address | IPv6Address

# A list of our own, because `ipaddress.is_global` differs between Python releases.
_PRIVATE_4 = tuple(
    map(
        IPv4Network,
        (
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "198.18.0.0/15",
        ),
    )
)
_NEVER_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            # Alibaba's metadata and Azure's agent. Those of other clouds are link-local.
            "100.100.100.200/32",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",
        ),
    )
)
_PRIVATE_6 = (IPv6Network("::1/128"), IPv6Network("fc00::/7"))
# Amazon's, Google's, Oracle's, Scaleway's and Linode's.
_METADATA_6 = tuple(
    map(IPv6Network, ("fd00:ec2::/32", "fd20:ce::/32", "fd00:c1::/32", "fd00:42::/32", "fd00:a9fe:a9fe::/48"))
)
_METADATA_NAMES = frozenset(
    ("instance-data", "instance-data.ec2.internal", "metadata", "metadata.goog", "metadata.google.internal")
)
_PRIVATE_SUFFIXES = (".home.arpa", ".internal", ".local", ".localdomain", ".localhost")
_GLOBAL_6 = IPv6Network("2000::/3")
_NEVER_6 = (IPv6Network("2001::/23"), IPv6Network("2001:db8::/32"), IPv6Network("3fff::/20"))
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressGuard:
    """One policy. Connections opened under one policy must not be reused under another."""

    def __init__(self, allow_private: bool = False, way_out: str = "", private_proxy: bool = True) -> None:
        """`way_out` names the setting that would allow private addresses. A proxy that the operator sets may be private
        even if targets may not."""
        self.allow_private = allow_private
        self._for_proxy = AddressGuard(True, way_out) if private_proxy and not allow_private else self
        self._way_out = way_out
        # Called once per page, mostly with the same addresses: 0.1 us instead of 5.
        self.allows = lru_cache(maxsize=8192)(self._allows)

    @property
    def refusal(self) -> str:
        """Why an address is not allowed, as text for a person."""
        if self.allow_private:
            return "the host's address is never allowed: link-local, a cloud's metadata service, or reserved"
        lets = f"; {self._way_out} allows them" if self._way_out else ""
        return f"the host's address is not public, and private addresses are not allowed{lets}"

    def _allows(self, ip: str) -> bool:
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return all(map(self._allows_address, carried(address)))

    def allows_target(self, url: str) -> bool:
        """Decides by the URL alone: only a literal address can be refused."""
        host = ada_url.URL(url).hostname.rstrip(".")
        if host == "localhost" or host.endswith(".localhost"):
            return self.allow_private
        try:
            ip_address(host.strip("[]"))
        except ValueError:
            return True
        return self.allows(host.strip("[]"))

    def allows_proxy(self, ip: str) -> bool:
        return self._for_proxy.allows(ip)

    def allows_unresolved(self, name: str) -> bool:
        """Decides about a name that has no address here, for a proxy to resolve."""
        name = name.rstrip(".").lower()
        if name in _METADATA_NAMES:
            return False
        return self.allow_private or ("." in name and not name.endswith(_PRIVATE_SUFFIXES))

    def _allows_address(self, address: Address) -> bool:
        if isinstance(address, IPv4Address):
            if any(address in network for network in _NEVER_4):
                return False
            return self.allow_private or not any(address in network for network in _PRIVATE_4)
        if any(address in network for network in _PRIVATE_6):
            return self.allow_private and not any(address in network for network in _METADATA_6)
        return address in _GLOBAL_6 and not any(address in network for network in _NEVER_6)


def carried(address: Address) -> tuple[Address, ...]:
    """The addresses at which a packet to this one may arrive."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return (address,)
