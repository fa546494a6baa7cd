"""A job's cookies, kept by libcurl's own engine: it knows which to send where, and the public suffixes.

What answers changed is found by looking at all cookies, and told once, so that the workers of a job can share them.
A cookie is one line in Netscape's format; one that was removed is told as a line that has expired. What is beyond a
bound is forgotten, first of hosts whose cookies have been the same for longest: they will set them anew.
"""

from __future__ import annotations

import time

import ada_url
import pycurl

from shoal.errors import UsageError

_TABS = 6
_HTTP_ONLY = "#HttpOnly_"
_EXPIRES = 4
_SHARE_OF_LOOKS = 0.02
_PUT_OFF = 0.1
MOST_COOKIES = 3_000
MOST_BYTES = 4_000_000

Key = tuple[str, str, str]
"""Domain, path and name: what makes it the same cookie."""


class Jar:
    """One per job. Cookies set by an answer are sent with later requests of the same jar only."""

    def __init__(self) -> None:
        self.share = pycurl.CurlShare()
        self.share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._window = pycurl.Curl()
        self._window.setopt(pycurl.SHARE, self.share)
        self._listing: set[bytes] = set()
        """All cookies as they were at the last look."""
        self._told: dict[Key, str] = {}
        """Those that were told or loaded, as others know them."""
        self._untold: dict[Key, str] = {}
        self._domains: dict[str, None] = {}
        """In the order in which their cookies last changed."""
        self._given: dict[Key, int] = {}
        """The job's own with their lengths; they are never forgotten, and not counted."""
        self._forgotten: list[Key] = []
        self._next_look = 0.0
        self.unseen_bytes = 0
        """Of heads that set cookies since the last look; whoever fetches adds them."""

    @property
    def due(self) -> bool:
        """Whether looking for changes is worth its while: with 3,000 cookies a look takes 20 ms."""
        return time.monotonic() >= self._next_look or self.unseen_bytes > MOST_BYTES

    def add(self, origin_url: str, cookies: str) -> None:
        """Sends `a=b; c=d` to this very host, and over TLS alone if the URL is https. It is not told as a change."""
        origin = ada_url.URL(origin_url)
        secure = "TRUE" if origin.protocol == "https:" else "FALSE"
        self._look()
        for cookie in filter(None, (part.strip() for part in cookies.split(";"))):
            name, equals, value = (part.strip() for part in cookie.partition("="))
            if not name or not equals or not cookie.isprintable():
                raise UsageError(f"{cookie!r} is not a cookie: write name=value")
            line = "\t".join((origin.hostname, "FALSE", "/", secure, "0", name, value))
            self._given[_key(line)] = len(line)
            self._window.setopt(pycurl.COOKIELIST, line.encode())
        self._listing = self._list()

    def changed_lines(self) -> list[str]:
        """The cookies that were set, changed or removed since the last call, session cookies included."""
        self._look()
        changed, self._untold = self._untold, {}
        self._told |= changed
        return list(changed.values())

    def forgotten(self) -> list[Key]:
        """What the last looks had no room for: nobody need keep it."""
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def load(self, lines: list[str]) -> None:
        """Takes over what others were told, but for what has changed here since."""
        self._look()
        for line in lines:
            # Anything else libcurl takes for a command, or for a header whose cookie it sends to every host.
            if line.count("\t") != _TABS:
                continue
            key = _key(line)
            if key not in self._untold and self._told.get(key) != line:
                self._told[key] = line
                self._window.setopt(pycurl.COOKIELIST, line.encode("latin-1"))
                self._domains.setdefault(key[0])
        self._listing = self._list()
        self._forget_beyond_bounds()

    def _list(self) -> set[bytes]:
        return set(self._window.getinfo_raw(pycurl.INFO_COOKIELIST))

    def _look(self) -> None:
        began, now = time.monotonic(), time.time()
        listing = self._list()
        self.unseen_bytes = 0
        fresh, gone = _by_key(listing - self._listing), _by_key(self._listing - listing)
        for key, line in fresh.items():
            self._domains.pop(key[0], None)
            self._domains[key[0]] = None
            if _is_news(line, self._told.get(key), now):
                self._untold[key] = line
        for key in gone.keys() - fresh.keys():
            # One whose time was over is gone everywhere by itself, and another worker may have got it anew.
            if not _has_expired(gone[key], now):
                self._untold[key] = _removal(gone[key])
        self._listing = listing
        ended = time.monotonic()
        self._next_look = ended + (ended - began) / _SHARE_OF_LOOKS
        self._forget_beyond_bounds()

    def _forget_beyond_bounds(self) -> None:
        most_bytes = MOST_BYTES + sum(self._given.values())
        if len(self._listing) <= MOST_COOKIES + len(self._given) and sum(map(len, self._listing)) <= most_bytes:
            return
        by_domain: dict[str, list[bytes]] = {}
        for cookie in self._listing:
            key = _key(cookie.decode("latin-1"))
            if key not in self._given:
                by_domain.setdefault(key[0], []).append(cookie)
        count = size = 0
        for domain in reversed(self._domains):
            cookies = by_domain.get(domain, [])
            count, size = count + len(cookies), size + sum(map(len, cookies))
            # Half of it, or there would be too much again at once.
            if count > MOST_COOKIES // 2 or size > MOST_BYTES // 2:
                break
            by_domain.pop(domain, None)
        self._forget([cookie for cookies in by_domain.values() for cookie in cookies])

    def _forget(self, cookies: list[bytes]) -> None:
        self._listing.difference_update(cookies)
        # libcurl looks through all it has to remove one.
        self._window.setopt(pycurl.COOKIELIST, "ALL")
        for cookie in self._listing:
            self._window.setopt(pycurl.COOKIELIST, cookie)
        for key in _by_key(set(cookies)):
            self._told.pop(key, None)
            self._untold.pop(key, None)
            self._forgotten.append(key)
        left = {key[0] for key in _by_key(self._listing)}
        self._domains = {domain: None for domain in self._domains if domain in left}


def _by_key(listing: set[bytes]) -> dict[Key, str]:
    lines = (line.decode("latin-1") for line in listing)
    return {_key(line): line for line in lines}


def _key(line: str) -> Key:
    domain, _, path, _, _, name, _ = line.split("\t")
    return domain.removeprefix(_HTTP_ONLY), path, name


def _expires(line: str) -> int:
    """0: with the session."""
    return int(line.split("\t")[_EXPIRES])


def _has_expired(line: str, now: float) -> bool:
    return 0 < _expires(line) <= now


def _removal(line: str) -> str:
    *fields, _ = line.split("\t")
    fields[_EXPIRES] = "1"
    return "\t".join([*fields, ""])


def _is_news(line: str, known: str | None, now: float) -> bool:
    """Many sites move the end of a cookie with every answer; that is news only when a tenth of its life has gone."""
    if known is None or _without_end(line) != _without_end(known):
        return True
    before, after = _expires(known), _expires(line)
    return before > after or before == 0 < after or (after - before) > _PUT_OFF * (after - now)


def _without_end(line: str) -> list[str]:
    fields = line.split("\t")
    del fields[_EXPIRES]
    return fields
