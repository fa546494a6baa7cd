"""Translates libcurl's errors into a Failure. Only this module knows libcurl's codes and words for them."""

from __future__ import annotations

import pycurl

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_transfer import Fetch, Transfer
from shoal.fetch.exchange import Failure, FailureKind

REFUSED_HEAD = "Header without colon"
"""libcurl's words for such a head."""

# libcurl's own limits: all header lines of a response, and one of them.
MAX_HEAD_BYTES = 300 * 1024
MAX_HEAD_LINE_BYTES = 100 * 1024

NO_TLS = "wrong version number"
"""OpenSSL's words for an answer that is no TLS record."""
_E_PROXY, _E_TOO_LARGE = 97, 100
_SOCKS_REPLIES = range(17, 28)
"""libcurl's codes (CURLPX_REPLY_…) of a SOCKS server that was reached, and did not connect."""
_KINDS = {
    pycurl.E_COULDNT_RESOLVE_HOST: FailureKind.DNS,
    pycurl.E_COULDNT_CONNECT: FailureKind.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: FailureKind.TIMEOUT,
    pycurl.E_SSL_CONNECT_ERROR: FailureKind.TLS,
    pycurl.E_SSL_CIPHER: FailureKind.TLS,
    pycurl.E_SSL_CERTPROBLEM: FailureKind.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: FailureKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailureKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailureKind.CERTIFICATE,
    pycurl.E_FILESIZE_EXCEEDED: FailureKind.TOO_LARGE,
    _E_TOO_LARGE: FailureKind.TOO_LARGE,
    pycurl.E_COULDNT_RESOLVE_PROXY: FailureKind.PROXY,
    _E_PROXY: FailureKind.PROXY,
}


def curl_failure(transfer: Transfer, call: Fetch, code: int, message: str) -> Failure:
    latency_s = transfer.clock.ran_s
    if transfer.refused and not transfer.dialled and call.proxy:
        return Failure(FailureKind.PROXY, "the proxy's address is not allowed: it is private or reserved", latency_s)
    if transfer.refused and not transfer.dialled:
        return address_refusal(transfer.guard, latency_s)
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        return Failure(FailureKind.PROTOCOL, "the host closed the connection without an answer", latency_s)
    if transfer.head.tell() > MAX_HEAD_BYTES:
        return Failure(FailureKind.TOO_LARGE, f"the head is larger than {MAX_HEAD_BYTES} bytes", latency_s)
    if code == _E_TOO_LARGE and not message:
        message = f"a line of the head is larger than {MAX_HEAD_LINE_BYTES} bytes"
    if code == pycurl.E_SSL_CONNECT_ERROR and NO_TLS in message and not call.proxy:
        return Failure(FailureKind.PLAIN_HTTP, "the port answers without TLS: it speaks http, not https", latency_s)
    return Failure(
        _kind(transfer, call, code), message, latency_s, is_refused_by_proxy=_is_refused_by_proxy(transfer, call, code)
    )


def _is_refused_by_proxy(transfer: Transfer, call: Fetch, code: int) -> bool:
    info = transfer.curl.getinfo
    if not call.proxy:
        return False
    if code == _E_PROXY:
        return info(pycurl.PROXY_ERROR) in _SOCKS_REPLIES
    return int(info(pycurl.HTTP_CONNECTCODE)) not in (0, 200, 407)


def _kind(transfer: Transfer, call: Fetch, code: int) -> FailureKind:
    info = transfer.curl.getinfo
    kind = _KINDS.get(code, FailureKind.PROTOCOL)
    if kind is FailureKind.CERTIFICATE:
        # That of the host is not translated here.
        return FailureKind.PROXY
    if kind is FailureKind.TIMEOUT and not info(pycurl.PRIMARY_IP):
        kind = FailureKind.CONNECT if transfer.dialled else FailureKind.DNS
    unreached = kind in (FailureKind.CONNECT, FailureKind.DNS) or info(pycurl.HTTP_CONNECTCODE) // 100 not in (0, 2)
    return FailureKind.PROXY if call.proxy and unreached else kind


def address_refusal(guard: AddressGuard, latency_s: float) -> Failure:
    return Failure(FailureKind.ADDRESS_REFUSED, guard.refusal, latency_s)
