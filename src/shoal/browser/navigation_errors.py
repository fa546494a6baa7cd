"""Why a document did not arrive: from the browser's error and what the page's proxy knows."""

from __future__ import annotations

from urllib.parse import urlsplit

from shoal.browser.page_failure import PageFailed
from shoal.browser.socks_proxy import Traffic
from shoal.fetch.exchange import FailureKind

_KINDS = (
    ("ERR_CERT_", FailureKind.CERTIFICATE),
    ("ERR_SSL_", FailureKind.TLS),
    ("ERR_CONTENT_DECODING_", FailureKind.UNDECODABLE),
    ("ERR_RESPONSE_HEADERS_TOO_BIG", FailureKind.TOO_LARGE),
    ("ERR_TIMED_OUT", FailureKind.TIMEOUT),
    ("ERR_CONNECTION_TIMED_OUT", FailureKind.CONNECT),
)


def navigation_failure(error: str, url: str, traffic: Traffic) -> PageFailed:
    if traffic.is_over:
        return PageFailed(FailureKind.TOO_LARGE, "the page brought too many bytes")
    refusal = traffic.refusals.get((urlsplit(url).hostname or "").rstrip("."))
    if refusal is not None and "SOCKS" in error:
        return PageFailed(FailureKind(refusal.kind), str(refusal))
    name = error.removeprefix("net::")
    kind = next((kind for prefix, kind in _KINDS if name.startswith(prefix)), FailureKind.PROTOCOL)
    return PageFailed(kind, f"the browser got no page: {name or 'no reason given'}")
