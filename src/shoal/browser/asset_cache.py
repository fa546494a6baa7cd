"""Scripts and styles that pages of one job have loaded. Each page has an empty cache of its own otherwise, and would
load them from the site again."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from shoal.fetch.exchange import Headers

MOST_BYTES = 32_000_000
MOST_ASSET_BYTES = 4_000_000
UNSAID_S = 600.0
"""How long an answer is used that does not say."""
_MAX_AGE = re.compile(r"max-age\s*=\s*\"?([0-9]{1,9})")
_NEVER = ("no-store", "no-cache")


@dataclass(frozen=True, slots=True)
class Asset:
    status: int
    headers: tuple[tuple[str, str], ...]
    encoded: str
    """The body in base64, as the browser takes it."""
    until: float


class AssetCache:
    """Belongs to one job: another may have other cookies, and so other answers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._assets: dict[tuple[str, str], Asset] = {}
        self._bytes = 0

    def get(self, url: str, origin: str) -> Asset | None:
        """`origin` is that of the page, if the request names it: the answer may be for that origin only."""
        asset = self._assets.get((url, origin))
        return asset if asset is not None and asset.until > self._clock() else None

    def keep(self, url: str, origin: str, status: int, headers: Headers, body: bytes) -> None:
        fresh_s = fresh_for_s(status, headers)
        if fresh_s <= 0 or len(body) > MOST_ASSET_BYTES:
            return
        self._remove((url, origin))
        asset = Asset(status, tuple(headers), base64.b64encode(body).decode(), self._clock() + fresh_s)
        self._assets[url, origin] = asset
        self._bytes += len(asset.encoded)
        while self._bytes > MOST_BYTES:
            self._remove(next(iter(self._assets)))

    def _remove(self, key: tuple[str, str]) -> None:
        old = self._assets.pop(key, None)
        if old is not None:
            self._bytes -= len(old.encoded)


def fresh_for_s(status: int, headers: Headers) -> float:
    """0: not to be kept."""
    control = headers.get("cache-control").lower()
    is_personal = "set-cookie" in headers or headers.get("vary").strip() == "*"
    if status != 200 or is_personal or any(word in control for word in _NEVER):
        return 0.0
    found = _MAX_AGE.search(control)
    return float(found[1]) if found else UNSAID_S
