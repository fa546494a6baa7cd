"""The canonical form of a URL: equal requests get equal text, and this text is also sent to the server.

Parsing follows WHATWG, as browsers do (host, port, dot segments, backslashes, tabs). In addition the fragment,
userinfo, tracking parameters and session ids are removed, the query is sorted by name, and percent-escapes get one
spelling. To a server for which only equal names have an order, and escapes mean the characters they stand for, the
same. `canonical` is idempotent and raises only InvalidURL.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote, unquote_plus

from ada_url import normalize_url, parse_url

from shoal.errors import InvalidURL
from shoal.model import JobSpec
from shoal.urls import session_ids

MAX_CHARS = 8_192
"""Longest canonical URL. Common servers refuse a longer request line."""

_TRACKING_PREFIXES = ("utm_", "mtm_")
_TRACKING = frozenset(
    (
        *("_ga", "_gl", "dclid", "gbraid", "gclid", "gclsrc", "srsltid", "wbraid"),  # Google
        *("fbclid", "igsh", "igshid", "epik", "li_fat_id", "ttclid", "twclid"),  # social networks
        *("msclkid", "yclid", "_openstat"),  # Bing, Yandex
        *("mc_cid", "mc_eid", "ml_subscriber", "ml_subscriber_hash", "mkt_tok"),  # mailings
        *("_hsenc", "_hsmi", "__hsfp", "__hssc", "__hstc", "hsCtaTracking"),  # HubSpot
        *("oly_anon_id", "oly_enc_id", "vero_conv", "vero_id", "rb_clickid", "wickedid"),
        *("pk_campaign", "pk_kwd"),  # Matomo, before it said mtm_
    )
)
_PREFIXES = (*_TRACKING_PREFIXES, session_ids.PREFIX)
_MEANINGLESS = {**dict.fromkeys(_TRACKING | session_ids.SURELY, True), **dict.fromkeys(session_ids.PERHAPS, False)}
"""Parameters that do not affect the page. False: only if the value looks like a session id."""

_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
_HEX = string.digits + "abcdefABCDEF"
# A percent sign that begins no escape ("%2%65") must not become one when the text after it is decoded. So the second
# branch matches such a sign together with the escape after it, and both stay as they are.
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}|%[0-9A-Fa-f]?%[0-9A-Fa-f]{2}")
_ONE_SPELLING = {
    f"%{high}{low}": char if (char := chr(int(high + low, 16))) in _UNRESERVED else f"%{high}{low}".upper()
    for high in _HEX
    for low in _HEX
}


@dataclass(frozen=True, slots=True)
class Params:
    """Query parameters to keep, or to drop in addition to those that track visitors and sessions. `keep` wins."""

    keep: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()

    @classmethod
    def of(cls, spec: JobSpec) -> Self:
        return cls(frozenset(spec.keep_params), frozenset(spec.drop_params))

    def drops(self, name: str, param: str) -> bool:
        """`param` is the full parameter, with its value."""
        if name in self.keep:
            return False
        meaningless = _MEANINGLESS.get(name)
        if meaningless is None:
            return name.startswith(_PREFIXES) or name in self.drop
        return meaningless or name in self.drop or session_ids.looks_random(param.partition("=")[2])


_DEFAULT = Params()


def canonical(url: str, params: Params = _DEFAULT) -> str:
    """Raises InvalidURL with the reason `malformed`, `not_http` or `too_long`."""
    try:
        href = normalize_url(url)
    except ValueError:
        raise InvalidURL(url, "malformed") from None
    if not href.startswith(("http://", "https://")):
        raise InvalidURL(url, "not_http")
    href = href.partition("#")[0]
    if "@" in href:
        href = _without_userinfo(href)
    if "%" in href:
        href = _ESCAPE.sub(_one_spelling, href)
    if "?" in href:
        href = _with_sorted_query(href, params)
    if ";" in href or "/(" in href:
        href = _without_path_session(href, params)
    if len(href) > MAX_CHARS:
        raise InvalidURL(url, "too_long")
    return href


def credentials_of(url: str) -> str | None:
    """The "user:password" in a URL, decoded; None if it has none."""
    try:
        parts = parse_url(url, ("username", "password"))
    except ValueError:
        raise InvalidURL(url, "malformed") from None
    if not (parts["username"] or parts["password"]):
        return None
    return f"{unquote(parts['username'])}:{unquote(parts['password'])}"


def left_out(url: str, params: Params) -> list[str]:
    """Names of the parameters and session ids of a URL that its canonical form lacks."""
    address, _, query = url.partition("#")[0].partition("?")
    path = "/" + address.partition("://")[2].partition("/")[2]
    in_path = [name for name, session in _path_sessions(params) if session.search(path)]
    named = [(_name_of(param), param) for param in query.split("&")]
    return list(dict.fromkeys([*in_path, *(name for name, param in named if params.drops(name, param))]))


def _without_userinfo(href: str) -> str:
    scheme, _, rest = href.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _one_spelling(escape: re.Match[str]) -> str:
    return _ONE_SPELLING.get(escape[0], escape[0])


def _with_sorted_query(href: str, params: Params) -> str:
    head, _, query = href.partition("?")
    named = [(_name_of(part), part) for part in query.split("&") if part]
    kept = [pair for pair in named if not params.drops(*pair)]
    if len(kept) > 1:
        kept.sort(key=_by_name)
    return f"{head}?{'&'.join([part for _, part in kept])}" if kept else head


def _without_path_session(href: str, params: Params) -> str:
    start = href.index("/", len("https://"))
    path, mark, query = href[start:].partition("?")
    for _, session in _path_sessions(params):
        path = session.sub("", path)
    return href[:start] + path + mark + query


def _path_sessions(params: Params) -> Iterator[tuple[str, re.Pattern[str]]]:
    return ((name, session) for name, session in session_ids.IN_PATH.items() if name not in params.keep)


def _by_name(pair: tuple[str, str]) -> str:
    return pair[0]


def _name_of(part: str) -> str:
    """The name as servers read it: `a[]` and `a%5B%5D` are one parameter, whose values keep their order."""
    name = part.partition("=")[0]
    return unquote_plus(name) if "%" in name or "+" in name else name
