"""What identifies a request (its fingerprint), and which clock it waits for (its host).

Both take canonical URLs only. `target` takes any URL.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any

from shoal.model import Target
from shoal.urls.canonical import Params, canonical

_GET = blake2b(b"GET\n", digest_size=8)
_number = struct.Struct(">q").unpack


def fingerprint(url: str, method: str = "GET", body: bytes = b"", identity: str = "") -> int:
    # Neither a method, nor an identity, nor a canonical URL contains a newline, so the fields stay separate. A method
    # contains no blank.
    request = f"{f'{identity} {method}' if identity else method}\n{url}\n".encode()
    number: int = _number(blake2b(request + body, digest_size=8).digest())[0]
    return number


def fingerprints(urls: Sequence[str]) -> tuple[int, ...]:
    """Fingerprints of many plain GETs at once, at half the cost of one at a time."""
    digests = []
    for url in urls:
        digest = _GET.copy()
        digest.update(f"{url}\n".encode())
        digests.append(digest.digest())
    return struct.unpack(f">{len(digests)}q", b"".join(digests))


def host_of(url: str, group: str = "host") -> str:
    """The unit of politeness: the hostname, or with group "domain" the registrable domain, plus any unusual port."""
    host = url.split("/", 3)[2].removesuffix(":443").removesuffix(":80")
    if group == "host":
        return host
    name, port = split_port(host)
    return registrable_domain(name) + port


def origin_of(url: str) -> str:
    """Scheme and authority."""
    return url[: url.index("/", len("https://"))]


def split_port(host: str) -> tuple[str, str]:
    """`example.com:8080` -> `example.com`, `:8080`."""
    name, colon, port = host.rpartition(":")
    return (name, colon + port) if colon and not port.endswith("]") else (host, "")


def is_address(name: str) -> bool:
    """Takes a host without its port."""
    # In the WHATWG parser, only an IPv4 address may end in a label of digits.
    return name.startswith("[") or name.rpartition(".")[2].isdigit()


@lru_cache(maxsize=10_000)
def registrable_domain(name: str) -> str:
    """`news.bbc.co.uk` -> `bbc.co.uk`. Addresses, bare names and public suffixes stay unchanged."""
    if is_address(name):
        return name
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=10_000)
def domain_of(host: str) -> str:
    """The registrable domain of a host, without its port."""
    name = split_port(host)[0].removeprefix("www.")
    # Most names do not need the public suffix list, which takes a while to load.
    return name if name.count(".") < 2 else registrable_domain(name)


@cache
def _suffixes() -> Any:
    # Imported here only: it costs 40 ms, and few jobs need it.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()


def target(url: str, params: Params, group: str) -> Target:
    """Raises InvalidURL, as `canonical` does."""
    text = canonical(url, params)
    return Target(text, fingerprint(text), host_of(text, group))


def with_identity(target: Target, identity: str) -> Target:
    """The same request in a session or region, where it counts as another one. Its note keeps the fingerprint."""
    if not identity:
        return target
    return target._replace(fingerprint=fingerprint(target.url, target.method, target.body, identity), note=identity)
