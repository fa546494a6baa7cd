"""Repeats a failed TLS handshake with a host to find out why it failed: libcurl's error does not say."""

from __future__ import annotations

from collections.abc import Container
from urllib.parse import urlsplit

import pycurl

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.body_memory import BodyMemory
from shoal.fetch.certificate_errors import Certificate, refusal
from shoal.fetch.curl_failures import NO_TLS
from shoal.fetch.curl_transfer import Fetch, Options, Transfer
from shoal.fetch.platform_multi import Multi
from shoal.urls import origin_of

_CERTIFICATE_REQUIRED = "certificate required"
"""OpenSSL's words for the alert of TLS 1.3. Earlier versions have none of their own."""
_BROKEN_OFF = frozenset({pycurl.E_SSL_CONNECT_ERROR, pycurl.E_SEND_ERROR, pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING})
"""The host closed the connection in the handshake or after it. Its alert may be lost then."""
_REQUEST_FOR_CERTIFICATE = b"Request CERT"
"""libcurl's words for the handshake message."""
_MOST_ORIGINS = 100_000


class TlsProbe:
    """Each origin is asked once, and at most once for each of the two questions."""

    def __init__(self, multi: Multi, guard: AddressGuard, options: Options, connect_timeout_s: float) -> None:
        self._multi = multi
        self._guard = guard
        self._options = options
        self._connect_timeout_s = connect_timeout_s
        self._certificates: dict[str, Certificate] = {}
        """Origin -> what the certificate says that was refused."""
        self._askers: dict[str, bool] = {}
        """Origin whose handshake failed -> whether it asked for a certificate of ours."""

    async def why_refused(self, call: Fetch, code: int, message: str) -> str:
        """Why the certificate of the host was refused, in words. `code` is OpenSSL's, `message` is libcurl's."""
        origin = origin_of(call.url)
        if origin not in self._certificates:
            if len(self._certificates) >= _MOST_ORIGINS:
                self._certificates.clear()
            self._certificates[origin] = await self._certificate(call)
        return refusal(code, message, urlsplit(origin).hostname or origin, self._certificates[origin])

    async def asks_for_certificate(self, call: Fetch, code: int, message: str, answered: Container[str]) -> bool:
        """Whether a connection failed because the host wants a certificate of ours. `answered` has the origins that
        answered over TLS before, without one."""
        if _CERTIFICATE_REQUIRED in message:
            return True
        if code not in _BROKEN_OFF or NO_TLS in message or call.proxy or not call.url.startswith("https:"):
            return False
        origin = origin_of(call.url)
        if origin in answered:
            return False
        if origin not in self._askers:
            if len(self._askers) >= _MOST_ORIGINS:
                self._askers.clear()
            self._askers[origin] = await self._was_asked(call)
        return self._askers[origin]

    async def _certificate(self, call: Fetch) -> Certificate:
        """libcurl tells what a refused certificate says only if it does not check it. Nothing is sent over that
        connection, and nobody else uses it."""
        unchecked = [(pycurl.SSL_VERIFYPEER, 0), (pycurl.SSL_VERIFYHOST, 0), (pycurl.OPT_CERTINFO, 1)]
        look = self._transfer(unchecked)
        await self._connect(look, call)
        chain = look.curl.getinfo(pycurl.INFO_CERTINFO)
        look.curl.close()
        return chain[0] if chain else ()

    async def _was_asked(self, call: Fetch) -> bool:
        """Looks at the messages of another handshake."""
        seen: list[bytes] = []
        look = self._transfer([(pycurl.VERBOSE, 1), (pycurl.DEBUGFUNCTION, lambda _kind, text: seen.append(text))])
        await self._connect(look, call)
        look.curl.close()
        return any(_REQUEST_FOR_CERTIFICATE in text for text in seen)

    def _transfer(self, options: Options) -> Transfer:
        own = [*self._options, *options, (pycurl.SSL_SESSIONID_CACHE, 0)]
        return Transfer(self._guard, set(), BodyMemory(), own)

    async def _connect(self, look: Transfer, call: Fetch) -> None:
        try:
            look.prepare(Fetch(call.url, proxy=call.proxy, deadline_s=self._connect_timeout_s, alone=True))
            # As if it were sent already: then the transfer ends once there is a connection.
            look.sent = True
            await self._multi.perform(look.curl)
        except pycurl.error:
            pass
