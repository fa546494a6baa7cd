"""Watches the cookies that a job was given: a host that deletes or replaces one may have ended the session."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

DELETED = "cookie_deleted"
REPLACED = "cookie_replaced"


class CookieChange(NamedTuple):
    kind: str
    name: str

    @property
    def words(self) -> str:
        """Never with the value, which is a secret."""
        return f"the host {'deleted' if self.kind == DELETED else 'replaced'} the cookie {self.name}, which you gave"


class GivenCookies:
    def __init__(self) -> None:
        self._values: dict[tuple[str, str], str] = {}
        """(domain, name) -> value"""

    def add(self, domain: str, name: str, value: str) -> None:
        self._values[domain.removeprefix("#HttpOnly_").lstrip(".").lower(), name] = value

    def add_lines(self, lines: Iterable[str]) -> None:
        """Cookies in Netscape's format."""
        for line in lines:
            domain, *_, name, value = line.split("\t")
            self.add(domain, name, value)

    def change(self, hostname: str, set_cookies: Iterable[str]) -> CookieChange | None:
        """The first given cookie that a response deletes or replaces. Each is reported once."""
        if not self._values:
            return None
        for line in set_cookies:
            pair, _, attributes = line.partition(";")
            name, _, value = (part.strip() for part in pair.partition("="))
            for domain, given in self._values:
                if given == name and (hostname == domain or hostname.endswith(f".{domain}")):
                    if change := self._changed((domain, name), value, attributes):
                        return change
                    break
        return None

    def _changed(self, key: tuple[str, str], value: str, attributes: str) -> CookieChange | None:
        is_deleted = not value or _has_expired(attributes)
        if value == self._values[key] and not is_deleted:
            return None
        del self._values[key]
        return CookieChange(DELETED if is_deleted else REPLACED, key[1])


def _has_expired(attributes: str) -> bool:
    """Max-Age wins over Expires."""
    found = {name.strip().lower(): value.strip() for name, _, value in map(_split, attributes.split(";"))}
    try:
        if "max-age" in found:
            return int(found["max-age"]) <= 0
        if "expires" not in found:
            return False
        # Imported here only: few given cookies are sent back with a date.
        from email.utils import parsedate_to_datetime

        return parsedate_to_datetime(found["expires"]).timestamp() <= time.time()
    except (ValueError, OverflowError):
        return False


def _split(attribute: str) -> tuple[str, str, str]:
    return attribute.partition("=")
