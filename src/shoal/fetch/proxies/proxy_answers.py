"""Tells an error that a proxy reports itself from an answer of the site."""

from __future__ import annotations

from shoal.fetch.exchange import Headers

_SERVERS = ("tinyproxy", "squid", "privoxy", "3proxy")
_ERROR_FIELDS = ("x-squid-error", "proxy-authenticate")


def is_from_proxy(url: str, status: int, headers: Headers) -> bool:
    """Inside a tunnel, which every https:// target has, a proxy cannot answer."""
    if status == 407:
        return True
    if status < 400 or not url.startswith("http:"):
        return False
    if any(field in headers for field in _ERROR_FIELDS) or "error=" in headers.get("proxy-status"):
        return True
    return headers.get("server").lower().startswith(_SERVERS)
