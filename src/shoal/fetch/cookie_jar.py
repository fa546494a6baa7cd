"""A job's cookies, in libcurl's own cookie engine: it knows where to send each one, and the public suffixes.

Changes are found by comparing all cookies, and reported once, so that the workers of a job can share them. A cookie is
one line in Netscape's format. A removed cookie is reported as an expired line. Cookies beyond a limit are forgotten,
those of hosts with the oldest changes first: these hosts will set them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

import ada_url
import pycurl

from shoal.errors import UsageError

_TABS = 6
_HTTP_ONLY = "#HttpOnly_"
_EXPIRES = 4
_SHARE_OF_CHECKS = 0.02
_PUT_OFF = 0.1
MOST_COOKIES = 3_000
MOST_BYTES = 4_000_000

Key = tuple[str, str, str]
"""Domain, path and name, which identify a cookie."""


class CookieJar:
    """One per job. Cookies set by a response are sent only with later requests of the same jar."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.share = pycurl.CurlShare()
        self.share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_COOKIE)
        self._window = pycurl.Curl()
        self._window.setopt(pycurl.SHARE, self.share)
        self._listing: set[bytes] = set()
        """All cookies as of the last check."""
        self._reported: dict[Key, str] = {}
        """Cookies that were reported or loaded, as other workers know them."""
        self._unreported: dict[Key, str] = {}
        self._domains: dict[str, None] = {}
        """In the order in which their cookies last changed."""
        self._given: dict[Key, int] = {}
        """The job's own cookies with their lengths. They are never forgotten, and not counted."""
        self._forgotten: list[Key] = []
        self._next_check = 0.0
        self.unchecked_bytes = 0
        """Size of response heads that set cookies since the last check. The code that fetches adds to it."""

    @property
    def due(self) -> bool:
        """Whether a check is worth its cost: with 3,000 cookies it takes 20 ms."""
        return self._clock() >= self._next_check or self.unchecked_bytes > MOST_BYTES

    def add(self, origin_url: str, cookies: str) -> None:
        """Sends `a=b; c=d` to exactly this host, and only over TLS if the URL is https. Not reported as a change."""
        origin = ada_url.URL(origin_url)
        secure = "TRUE" if origin.protocol == "https:" else "FALSE"
        self._check()
        for cookie in filter(None, (part.strip() for part in cookies.split(";"))):
            name, equals, value = (part.strip() for part in cookie.partition("="))
            if not name or not equals or not cookie.isprintable():
                raise UsageError(f"{cookie!r} is not a cookie: write name=value")
            line = "\t".join((origin.hostname, "FALSE", "/", secure, "0", name, value))
            self._given[_key(line)] = len(line)
            self._window.setopt(pycurl.COOKIELIST, line.encode())
        self._listing = self._list()

    def add_lines(self, lines: list[str]) -> None:
        """Adds the job's own cookies, in Netscape's format. Not reported as a change."""
        self._check()
        for line in lines:
            self._window.setopt(pycurl.COOKIELIST, line.encode())
        listing = self._list()
        # As libcurl lists them: it adds a dot to a domain that holds for subdomains, and drops what has expired.
        for key, line in _by_key(listing - self._listing).items():
            self._given[key] = len(line)
        self._listing = listing

    def changed_lines(self) -> list[str]:
        """Cookies that were set, changed or removed since the last call, including session cookies."""
        self._check()
        changed, self._unreported = self._unreported, {}
        self._reported |= changed
        return list(changed.values())

    def forgotten(self) -> list[Key]:
        """Cookies that the last checks had no room for: nobody needs to store them."""
        forgotten, self._forgotten = self._forgotten, []
        return forgotten

    def load(self, lines: list[str]) -> None:
        """Adds what other workers reported, except for cookies that have changed here since."""
        self._check()
        for line in lines:
            # libcurl reads any other line as a command, or as a header whose cookie it sends to every host.
            if line.count("\t") != _TABS:
                continue
            key = _key(line)
            if key not in self._unreported and self._reported.get(key) != line:
                self._reported[key] = line
                self._window.setopt(pycurl.COOKIELIST, line.encode("latin-1"))
                self._domains.setdefault(key[0])
        self._listing = self._list()
        self._forget_beyond_bounds()

    def copy_without(self, names: Collection[str]) -> CookieJar:
        """For a request that brings cookies of these names itself. Call `take_changes` when it has ended."""
        copy = CookieJar()
        copy.load([line for line in self.lines if _key(line)[2] not in names])
        return copy

    def take_changes(self, copy: CookieJar) -> None:
        """Adds the cookies that a host set in a copy."""
        for line in copy.changed_lines():
            self._window.setopt(pycurl.COOKIELIST, line.encode("latin-1"))

    @property
    def lines(self) -> list[str]:
        return [line.decode("latin-1") for line in self._list()]

    def lines_for(self, host: str) -> list[str]:
        """The cookies that a browser at this host may get."""
        return [line for line in self.lines if _holds_for(line, host)]

    def sent_to(self, url: str) -> list[str]:
        """The cookies, as name=value, that a request for this URL sends."""
        parts, now = urlsplit(url), time.time()
        fields = [line.split("\t") for line in self.lines_for(parts.hostname or "") if not _has_expired(line, now)]
        return [
            f"{name}={value}"
            for _, _, path, secure, _, name, value in fields
            if _is_below(path, parts.path or "/") and (secure == "FALSE" or parts.scheme == "https")
        ]

    def set_lines(self, lines: list[str]) -> None:
        """Adds cookies that a browser brought back. Unlike those of `load`, they are reported as changes."""
        for line in lines:
            if line.count("\t") == _TABS:
                self._window.setopt(pycurl.COOKIELIST, line.encode("latin-1"))

    def _list(self) -> set[bytes]:
        return set(self._window.getinfo_raw(pycurl.INFO_COOKIELIST))

    def _check(self) -> None:
        began, now = self._clock(), time.time()
        listing = self._list()
        self.unchecked_bytes = 0
        fresh, gone = _by_key(listing - self._listing), _by_key(self._listing - listing)
        for key, line in fresh.items():
            self._domains.pop(key[0], None)
            self._domains[key[0]] = None
            if _is_change(line, self._reported.get(key), now):
                self._unreported[key] = line
        for key in gone.keys() - fresh.keys():
            # An expired cookie disappears everywhere by itself, and another worker may have received it again.
            if not _has_expired(gone[key], now):
                self._unreported[key] = removal(gone[key])
        self._listing = listing
        ended = self._clock()
        self._next_check = ended + (ended - began) / _SHARE_OF_CHECKS
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
            # Down to half: otherwise the limit would be exceeded again at once.
            if count > MOST_COOKIES // 2 or size > MOST_BYTES // 2:
                break
            by_domain.pop(domain, None)
        self._forget([cookie for cookies in by_domain.values() for cookie in cookies])

    def _forget(self, cookies: list[bytes]) -> None:
        self._listing.difference_update(cookies)
        # Cleared and loaded again: libcurl searches all cookies to remove one.
        self._window.setopt(pycurl.COOKIELIST, "ALL")
        for cookie in self._listing:
            self._window.setopt(pycurl.COOKIELIST, cookie)
        for key in _by_key(set(cookies)):
            self._reported.pop(key, None)
            self._unreported.pop(key, None)
            self._forgotten.append(key)
        left = {key[0] for key in _by_key(self._listing)}
        self._domains = {domain: None for domain in self._domains if domain in left}


def _by_key(listing: set[bytes]) -> dict[Key, str]:
    lines = (line.decode("latin-1") for line in listing)
    return {_key(line): line for line in lines}


def _key(line: str) -> Key:
    domain, _, path, _, _, name, _ = line.split("\t")
    return domain.removeprefix(_HTTP_ONLY), path, name


def _holds_for(line: str, host: str) -> bool:
    domain, with_subdomains, *_ = line.split("\t")
    domain = domain.removeprefix(_HTTP_ONLY).lstrip(".")
    return host == domain or (with_subdomains == "TRUE" and host.endswith(f".{domain}"))


def _is_below(path: str, requested: str) -> bool:
    return requested == path or requested.startswith(path.rstrip("/") + "/")


def _expires(line: str) -> int:
    """0: at the end of the session."""
    return int(line.split("\t")[_EXPIRES])


def _has_expired(line: str, now: float) -> bool:
    return 0 < _expires(line) <= now


def removal(line: str) -> str:
    """An expired line, which deletes the cookie."""
    *fields, _ = line.split("\t")
    fields[_EXPIRES] = "1"
    return "\t".join([*fields, ""])


def _is_change(line: str, known: str | None, now: float) -> bool:
    """Many sites extend a cookie with every response. That is a change only when a tenth of its life has passed."""
    if known is None or _without_end(line) != _without_end(known):
        return True
    before, after = _expires(known), _expires(line)
    return before > after or before == 0 < after or (after - before) > _PUT_OFF * (after - now)


def _without_end(line: str) -> list[str]:
    fields = line.split("\t")
    del fields[_EXPIRES]
    return fields
