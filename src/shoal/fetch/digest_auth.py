"""Digest authentication (RFC 7616) with MD5 and SHA-256, for hosts that ask for it.

Credentials are sent as Basic until a host asks for Digest. Then every request of that origin is signed with the host's
last challenge, so that a page takes one request. libcurl would send two for each page, the second beyond the rate.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange
from shoal.urls import origin_of

MOST_CHALLENGES = 10_000
UNAUTHORIZED = 401
_DIGEST = re.compile(r"(?:^|,)\s*Digest\s+", re.IGNORECASE)
_PARAMETER = re.compile(r'[\s,]*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s,"]+))')
_ESCAPE = re.compile(r"\\(.)")
_HASHES: dict[str, Callable[[bytes], str]] = {
    "SHA-256": lambda data: hashlib.sha256(data).hexdigest(),
    "MD5": lambda data: hashlib.md5(data, usedforsecurity=False).hexdigest(),
}
"""The best first."""


@dataclass(slots=True)
class Challenge:
    realm: str
    nonce: str
    opaque: str | None
    algorithm: str
    """As the host wrote it; empty: it wrote none."""
    has_qop: bool
    is_stale: bool
    used: int = 0
    worked: bool = False
    """The host has accepted its nonce, so if it refuses it later, it has expired."""

    @property
    def base(self) -> str:
        return (self.algorithm or "MD5").upper().removesuffix("-SESS")

    def authorization(self, call: Fetch, client_nonce: str) -> str:
        user, _, password = call.credentials.partition(":")
        hashed = _HASHES[self.base]
        parts = urlsplit(call.url)
        uri = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.used += 1
        count = f"{self.used:08x}"
        secret = hashed(f"{user}:{self.realm}:{password}".encode())
        if self.algorithm.upper().endswith("-SESS"):
            secret = hashed(f"{secret}:{self.nonce}:{client_nonce}".encode())
        request = hashed(f"{call.method}:{uri}".encode())
        between = f"{self.nonce}:{count}:{client_nonce}:auth" if self.has_qop else self.nonce
        fields = [
            f"username={_quoted(user)}, realm={_quoted(self.realm)}, nonce={_quoted(self.nonce)}, uri={_quoted(uri)}",
            f'response="{hashed(f"{secret}:{between}:{request}".encode())}"',
        ]
        if self.algorithm:
            fields.append(f"algorithm={self.algorithm}")
        if self.opaque is not None:
            fields.append(f"opaque={_quoted(self.opaque)}")
        if self.has_qop:
            fields.append(f'qop=auth, nc={count}, cnonce="{client_nonce}"')
        return f"Digest {', '.join(fields)}"


class DigestChallenges:
    """The last challenge of each origin, for each of the credentials that are used there."""

    def __init__(self) -> None:
        self._challenges: dict[tuple[str, str], Challenge] = {}

    def signed(self, call: Fetch) -> Fetch:
        """The call as it is sent. The job's own Authorization header wins."""
        if not call.credentials or not self._challenges or _has_own_header(call):
            return call
        challenge = self._challenges.get((origin_of(call.url), call.credentials))
        if challenge is None:
            return call
        authorization = challenge.authorization(call, secrets.token_hex(16))
        return replace(call, credentials="", headers={**call.headers, "Authorization": authorization})

    def note(self, asked: Fetch, sent: Fetch, answer: Exchange) -> bool:
        """Learns from an answer. Whether the same request with a new signature may be accepted."""
        place = origin_of(asked.url), asked.credentials
        known = self._challenges.get(place)
        if answer.status != UNAUTHORIZED or _has_own_header(asked):
            if known is not None and sent is not asked:
                known.worked = True
            return False
        challenge = best_challenge(answer.headers.get_all("www-authenticate"))
        if challenge is None:
            return False
        if len(self._challenges) >= MOST_CHALLENGES:
            self._challenges.clear()
        self._challenges[place] = challenge
        return sent is asked or challenge.is_stale or (known is not None and known.worked)


def best_challenge(fields: list[str]) -> Challenge | None:
    """Among those of a response that can be answered."""
    found = [challenge for field in fields for challenge in _challenges_in(field)]
    by_hash = {challenge.base: challenge for challenge in reversed(found)}
    return next((by_hash[name] for name in _HASHES if name in by_hash), None)


def _challenges_in(field: str) -> Iterator[Challenge]:
    for start in _DIGEST.finditer(field):
        given = dict(_parameters(field, start.end()))
        ways = given["qop"].lower().replace(",", " ").split() if "qop" in given else []
        if "nonce" in given and ("qop" not in given or "auth" in ways):
            yield Challenge(
                given.get("realm", ""),
                given["nonce"],
                given.get("opaque"),
                given.get("algorithm", ""),
                bool(ways),
                given.get("stale", "").lower() == "true",
            )


def _parameters(field: str, at: int) -> Iterator[tuple[str, str]]:
    """Up to the next scheme, which has no equals sign behind it."""
    while found := _PARAMETER.match(field, at):
        at = found.end()
        yield found[1].lower(), found[3] or _ESCAPE.sub(r"\1", found[2] or "")


def _has_own_header(call: Fetch) -> bool:
    return any(name.lower() == "authorization" for name in call.headers)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
