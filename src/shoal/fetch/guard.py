"""Which addresses may be dialled.

Only globally routable ones, unless the operator allowed private ones. Some are out of reach either way: link-local
addresses and the services that a cloud gives its own machines (metadata, agents), multicast, reserved and unspecified
ones. An IPv6 address that carries an IPv4 address is judged by what it carries.

Through a proxy, which looks names up itself, a target is judged by the addresses that its name has here. A name that
has none here goes to the proxy, unless it is one of a private network or of a metadata service.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import ada_url

Address = IPv4Address | IPv6Address

# Listed here instead of asking `ipaddress.is_global`, whose answers differ between Python releases.
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
            # Alibaba's metadata and Azure's agent; other clouds' are link-local.
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


class Guard:
    """One policy. Connections opened under one must not be reused under another."""

    def __init__(self, allow_private: bool = False, way_out: str = "", private_proxy: bool = True) -> None:
        """`way_out` names what would let private addresses be reached. A proxy that the operator names may be private
        although targets may not."""
        self.allow_private = allow_private
        self._for_proxy = Guard(True, way_out) if private_proxy and not allow_private else self
        self._way_out = way_out
        # Asked for once per page, mostly about the same addresses: 0.1 us instead of 5.
        self.allows = lru_cache(maxsize=8192)(self._allows)

    @property
    def refusal(self) -> str:
        """In words, of whatever it does not allow."""
        if self.allow_private:
            return "the host's address is one that is never asked: link-local, of a cloud's metadata, or reserved"
        lets = f"; {self._way_out} lets them be reached" if self._way_out else ""
        return f"the host's address is not a public one, and private addresses are not allowed{lets}"

    def _allows(self, ip: str) -> bool:
        try:
            address = ip_address(ip)
        except ValueError:
            return False
        return all(map(self._allows_address, carried(address)))

    def allows_target(self, url: str) -> bool:
        """By the URL alone: only a literal address can be judged."""
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
        """A target's name that has no address here, for a proxy to look up."""
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
    """The addresses a packet to this one may end up at."""
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
