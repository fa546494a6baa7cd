"""An HTTP/1.1 request to a host whose heads libcurl refuses: they have lines without a colon, which browsers skip.

It is slower than libcurl, uses each connection once and knows no proxy. So only origins that need it are fetched so.
"""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.curl_transfer import Fetch, header_lines
from shoal.fetch.dns import DnsResolver, place_of
from shoal.fetch.exchange import MOST_DIGITS, Exchange, Failure, FailureKind, Headers, parse_head
from shoal.fetch.tls_policy import TlsPolicy
from shoal.urls.fingerprint import is_address

MAX_HEAD_BYTES = 300 * 1024
_READ_BYTES = 1 << 16
_INTERIM = range(100, 200)
_NO_BODY = frozenset({204, 304})
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_MAX_AGE = re.compile(r"-?[0-9]{1,12}")


class BrokenAnswer(Exception):
    """The answer cannot be read even so."""


class AnswerTooLarge(Exception):
    """The body or the head is larger than the limit."""


class LenientFetcher:
    def __init__(self, agent: str, guard: AddressGuard, names: DnsResolver, tls: TlsPolicy) -> None:
        self._agent = agent
        self._guard = guard
        self._names = names
        self._tls = tls
        self._context: ssl.SSLContext | None = None

    async def fetch(self, call: Fetch) -> Exchange | Failure:
        """The guard allows the address that it connects to, whatever the name of the host resolves to later."""
        started_at, began = time.time(), time.monotonic()
        failure = partial(Failure, FailureKind.PROTOCOL)
        try:
            async with asyncio.timeout(call.deadline_s):
                address = await self._address(call)
                if address is None:
                    return Failure(FailureKind.DNS, "the name of the host has no address", time.monotonic() - began)
                if not self._guard.allows(address):
                    return Failure(FailureKind.ADDRESS_REFUSED, self._guard.refusal, time.monotonic() - began)
                head, body = await self._exchange_at(address, call)
        except TimeoutError:
            failure, words = partial(Failure, FailureKind.TIMEOUT), f"no answer within {call.deadline_s:g} s"
        except AnswerTooLarge as error:
            failure, words = partial(Failure, FailureKind.TOO_LARGE), str(error)
        except asyncio.LimitOverrunError:
            failure, words = partial(Failure, FailureKind.TOO_LARGE), f"the head is larger than {MAX_HEAD_BYTES} bytes"
        except asyncio.IncompleteReadError:
            words = "the host closed the connection within the answer"
        except ssl.SSLError as error:
            failure, words = partial(Failure, FailureKind.TLS), f"TLS: {error.reason or error}"
        except (BrokenAnswer, OSError, ValueError) as error:
            words = str(error)
        else:
            reason, headers = parse_head(head)
            latency_s = time.monotonic() - began
            return Exchange(
                call.url, _status(head), reason, headers, head, body, body, "1.1", address, latency_s, started_at
            )
        return failure(words, time.monotonic() - began)

    async def _address(self, call: Fetch) -> str | None:
        place = place_of(call.url)
        if place is None:
            host = urlsplit(call.url).hostname or ""
            return host if is_address(host) or ":" in host else "127.0.0.1"
        return next(iter(await self._names.addresses(place, call.deadline_s)), None)

    async def _exchange_at(self, address: str, call: Fetch) -> tuple[bytes, bytes]:
        """The head and the body of the answer."""
        parts = urlsplit(call.url)
        is_secure = parts.scheme == "https"
        if is_secure and self._context is None:
            self._context = self._tls.context()
        reader, writer = await asyncio.open_connection(
            address,
            parts.port or (443 if is_secure else 80),
            limit=MAX_HEAD_BYTES,
            ssl=self._context if is_secure else None,
            server_hostname=parts.hostname if is_secure else None,
        )
        try:
            writer.write(_request(call, self._agent))
            await writer.drain()
            return await _answer(call, reader)
        finally:
            writer.transport.abort()


def _request(call: Fetch, agent: str) -> bytes:
    parts = urlsplit(call.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{call.method} {path} HTTP/1.1".encode(), f"Host: {parts.netloc.rpartition('@')[2]}".encode()]
    lines += [b"Connection: close", b"User-Agent: " + agent.encode(), *header_lines(call, call.headers)]
    if call.credentials:
        lines.append(b"Authorization: Basic " + base64.b64encode(call.credentials.encode()))
    cookies = [*([call.cookies] if call.cookies else []), *(call.jar.sent_to(call.url) if call.jar else [])]
    if cookies:
        lines.append(f"Cookie: {'; '.join(cookies)}".encode("latin-1", "replace"))
    if call.body:
        lines.append(b"Content-Length: %d" % len(call.body))
    return b"\r\n".join([*(line for line in lines if not line.endswith(b":")), b"", call.body])


async def _answer(call: Fetch, reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await _final_head(reader)
    status = _status(head)
    _, headers = parse_head(head)
    if call.jar is not None:
        _keep_cookies(call.jar, call.url, headers.get_all("set-cookie"))
    is_success = 200 <= status < 300
    if is_success and call.types and call.types.refused_by_answer(headers.get("content-type"), call.url):
        return head, b""
    has_body = call.method != "HEAD" and status not in _NO_BODY
    return head, await _body(call, reader, headers) if has_body else b""


async def _final_head(reader: asyncio.StreamReader) -> bytes:
    """Without interim answers, which count towards the limit, too."""
    received, start = bytearray(), 0
    while True:
        line = await reader.readuntil(b"\n")
        received += line
        if len(received) > MAX_HEAD_BYTES:
            raise AnswerTooLarge(f"the head is larger than {MAX_HEAD_BYTES} bytes")
        if line.strip(b"\r\n"):
            continue
        head = bytes(received[start:])
        if _status(head) not in _INTERIM:
            return head
        start = len(received)


def _status(head: bytes) -> int:
    version, _, rest = head.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise BrokenAnswer("the answer does not begin with a status line of HTTP/1.1")
    return int(rest[:3])


async def _body(call: Fetch, reader: asyncio.StreamReader, headers: Headers) -> bytes:
    coding = headers.get("transfer-encoding").strip().lower()
    length = headers.get("content-length")
    if coding == "chunked":
        return await _chunks(call, reader)
    if coding not in ("", "identity"):
        raise BrokenAnswer(f"the transfer coding {coding[:40]!r} is unknown")
    if not length.isdecimal():
        return await _until_closed(call, reader)
    if len(length) > MOST_DIGITS:
        raise BrokenAnswer(f"the Content-Length has {len(length)} digits")
    if int(length) > call.max_bytes and not call.truncate:
        raise AnswerTooLarge(f"the body is larger than {call.max_bytes} bytes")
    body = bytearray()
    await _fills(call, body, reader, int(length))
    return bytes(body)


async def _until_closed(call: Fetch, reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while piece := await reader.read(_READ_BYTES):
        if _is_full(call, body, piece):
            break
    return bytes(body)


async def _chunks(call: Fetch, reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        size_line = (await reader.readuntil(b"\n")).partition(b";")[0].strip()
        if not _CHUNK_SIZE.fullmatch(size_line):
            raise BrokenAnswer("a chunk of the body has no size")
        size = int(size_line, 16)
        if size == 0:
            return bytes(body)
        if not call.truncate and len(body) + size > call.max_bytes:
            raise AnswerTooLarge(f"the body is larger than {call.max_bytes} bytes")
        if await _fills(call, body, reader, size):
            return bytes(body)
        await reader.readuntil(b"\n")


async def _fills(call: Fetch, body: bytearray, reader: asyncio.StreamReader, size: int) -> bool:
    """Adds the next `size` bytes, piece by piece: a host may promise more than memory holds. True as for `_is_full`."""
    while size:
        piece = await reader.read(min(_READ_BYTES, size))
        if not piece:
            raise asyncio.IncompleteReadError(b"", size)
        if _is_full(call, body, piece):
            return True
        size -= len(piece)
    return False


def _is_full(call: Fetch, body: bytearray, piece: bytes) -> bool:
    """Adds a piece. True if the limit is reached and the rest is not wanted."""
    body += piece
    if len(body) <= call.max_bytes:
        return False
    if not call.truncate:
        raise AnswerTooLarge(f"the body is larger than {call.max_bytes} bytes")
    del body[call.max_bytes :]
    return True


def _keep_cookies(jar: CookieJar, url: str, fields: list[str]) -> None:
    """Keeps each for this host alone, whatever wider domain it names."""
    host = urlsplit(url).hostname or ""
    for field in fields:
        with suppress(CookieError):
            for name, morsel in SimpleCookie(field).items():
                secure = "TRUE" if morsel["secure"] else "FALSE"
                line = (host, "FALSE", morsel["path"] or "/", secure, str(_expires(morsel)), name, morsel.value)
                jar.set_lines(["\t".join(line)])


def _expires(morsel: Mapping[str, str]) -> int:
    """0: at the end of the session. 1: it is removed."""
    if _MAX_AGE.fullmatch(age := morsel["max-age"]):
        return int(time.time()) + int(age) if int(age) > 0 else 1
    if morsel["expires"]:
        with suppress(ValueError, OverflowError):
            return max(1, int(parsedate_to_datetime(morsel["expires"]).timestamp()))
    return 0
