"""Tells an error that a proxy reports itself from an answer of the site."""

from __future__ import annotations

from shoal.fetch.exchange import Headers

_SERVERS = ("tinyproxy", "squid", "privoxy", "3proxy")
_STATUSES = (401, 403, 502, 503, 504)
"""Of those servers. Others are rather of a site behind one. tinyproxy answers 401 to a wrong password."""
_ERROR_FIELDS = ("x-squid-error", "proxy-authenticate")


def is_from_proxy(url: str, status: int, headers: Headers) -> bool:
    """Inside a tunnel, which every https:// target has, a proxy cannot answer.

    A site can forge such an answer.
    """
    if status < 400 or not url.startswith("http:"):
        return False
    if status == 407 or any(field in headers for field in _ERROR_FIELDS) or "error=" in headers.get("proxy-status"):
        return True
    return status in _STATUSES and headers.get("server").lower().startswith(_SERVERS)
