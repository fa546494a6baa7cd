"""The Fetcher: libcurl in the event loop, one connection cache under one guard.

It follows no redirect, speaks http and https only, obeys no proxy from the environment, and hands over bodies both
as they came and decoded. Whatever libcurl reports is translated here, once, into a Failure.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import certifi
import pycurl

from shoal.errors import UsageError
from shoal.fetch.decode import CannotDecode, DecodedTooLarge, decode
from shoal.fetch.exchange import REDIRECTS, Exchange, Failure, FailureKind, final_head, is_whole, parse_head
from shoal.fetch.guard import Guard
from shoal.fetch.intake import Intake
from shoal.fetch.names import KNOWN_S, Names, place_of
from shoal.fetch.transfer import Fetch, Options, Transfer
from shoal.urls import origin_of

if sys.platform == "linux":
    from shoal.fetch.multi import EpollMulti as Multi
else:

    class Multi(pycurl.AsyncCurlMulti):
        """Cancelled, it takes the handle out before whoever awaits it wakes up: its callback was registered first."""

        def __init__(self) -> None:
            super().__init__()
            self.spoilt: set[int] = set()


CONNECT_TIMEOUT_S = 10
PROXIED_NAME_S = 5.0
"""How long a name is looked up here that a proxy will look up again; many networks with a proxy have no other names."""
# Of these libcurl asks the proxy for an address, which it looks up itself.
_LOCAL_NAMES = ("socks5://", "socks4://")
DECODED_RATIO = 4
MOST_DECODED_BYTES = 40_000_000
# libcurl's own bounds for all header lines of one answer, and for one of them.
MAX_HEAD_BYTES = 300 * 1024
MAX_HEAD_LINE_BYTES = 100 * 1024
# Undoing more than this takes the event loop away from other hosts for too long.
_INLINE_RAW_BYTES = 1 << 18
_INLINE_BYTES = 1 << 20
# Fewer than the hosts in play, and each request pays for a handshake; but each cached one holds a file.
_MAX_CONNECTIONS = 2_000

# Most pages come in one read; libcurl's own 16 KB take two.
_READ_BYTES = 1 << 17

_MOST_MET = 100_000
# After so many closes under a request a host is taken for one that keeps no connection, whatever it says.
_CLOSES_BELIEVED = 2

_E_PROXY, _E_TOO_LARGE = 97, 100
_KINDS = {
    pycurl.E_COULDNT_RESOLVE_HOST: FailureKind.DNS,
    pycurl.E_COULDNT_CONNECT: FailureKind.CONNECT,
    pycurl.E_OPERATION_TIMEDOUT: FailureKind.TIMEOUT,
    pycurl.E_SSL_CONNECT_ERROR: FailureKind.TLS,
    pycurl.E_SSL_CIPHER: FailureKind.TLS,
    pycurl.E_SSL_CERTPROBLEM: FailureKind.TLS,
    pycurl.E_SSL_INVALIDCERTSTATUS: FailureKind.TLS,
    pycurl.E_SSL_ISSUER_ERROR: FailureKind.TLS,
    pycurl.E_PEER_FAILED_VERIFICATION: FailureKind.TLS,
    pycurl.E_FILESIZE_EXCEEDED: FailureKind.TOO_LARGE,
    _E_TOO_LARGE: FailureKind.TOO_LARGE,
    pycurl.E_COULDNT_RESOLVE_PROXY: FailureKind.PROXY,
    _E_PROXY: FailureKind.PROXY,
}
_VERSIONS = {1: "1.0", 2: "1.1", 3: "2", 30: "3"}


class Fetcher:
    """Belongs to the event loop of its first fetch. Close it when nothing is in flight any more."""

    def __init__(self, agent: str, guard: Guard, ca_file: str | None = None, intake: Intake | None = None) -> None:
        self.agent = agent
        self._guard = guard
        self._intake = intake or Intake()
        self._multi = Multi()
        self._multi.setopt(pycurl.M_MAXCONNECTS, _connections())
        self._names = Names()
        self._idle: list[Transfer] = []
        self._under_way: dict[Transfer, float] = {}
        """When each began."""
        self._dialling: dict[str, asyncio.Event] = {}
        self._met: set[str] = set()
        """Origins that a connection was made to, or tried."""
        self._closing: Counter[str] = Counter()
        """Origin -> how often it closed a connection under the next request."""
        self._options: Options = [
            (pycurl.USERAGENT, agent),
            (pycurl.CAINFO, ca_file or _authorities()),
            (pycurl.NOSIGNAL, 1),
            (pycurl.BUFFERSIZE, _READ_BYTES),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
            (pycurl.HTTPAUTH, pycurl.HTTPAUTH_BASIC),
            (pycurl.CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_S * 1000),
            (pycurl.DNS_CACHE_TIMEOUT, int(2 * KNOWN_S)),
        ]

    @property
    def is_full(self) -> bool:
        """Big bodies that were fetched and are not done with are so many that others pause."""
        return self._intake.is_full

    async def fetch(self, call: Fetch) -> Exchange | Failure:
        """For whoever fetches few: however big the body is, it comes unpacked and is not counted as held."""
        answer = await self.fetch_packed(call)
        if isinstance(answer, Failure):
            return answer
        answer.let_go()
        return await unpacked(answer, call) if answer.is_packed else answer

    async def fetch_packed(self, call: Fetch) -> Exchange | Failure:
        """A big body comes as it is, to be `unpacked` when there is memory for it, and to be let go of."""
        if call.proxy and not self._guard.allows_target(call.url):
            return _refusal(self._guard, 0.0)
        if self._closing and self._closing[origin_of(call.url)] >= _CLOSES_BELIEVED:
            call = replace(call, alone=True)
        started_at = time.time()
        transfer = (
            self._idle.pop() if self._idle else Transfer(self._guard, self._multi.spoilt, self._intake, self._options)
        )
        self._under_way[transfer] = started_at
        try:
            failure = await self._name_to(transfer, call)
            if failure is not None:
                return failure
            if call.url.startswith("https:") and (origin := origin_of(call.url)) not in self._met:
                failure = await self._perform_in_turn(origin, transfer, call)
            else:
                failure = await self._perform(transfer, call)
            answer = failure or self._exchange(transfer, call, started_at)
        finally:
            del self._under_way[transfer]
            transfer.forget()
            self._idle.append(transfer)
        if isinstance(answer, Exchange) and answer.is_coded and answer.location is None:
            return _unpacked_if_small(answer, call)
        return answer

    def slow(self, after_s: float, bytes_per_s: float) -> int:
        """How many requests are under way for so long that have brought less than this, since they began."""
        now = time.time()
        since = now - after_s
        return sum(
            began < since and transfer.received_bytes < bytes_per_s * (now - began)
            for transfer, began in self._under_way.items()
        )

    async def aclose(self) -> None:
        await self._names.aclose()
        await self._multi.aclose()
        for transfer in self._idle:
            transfer.curl.close()
        self._idle.clear()

    async def _name_to(self, transfer: Transfer, call: Fetch) -> Failure | None:
        """Sees to it that libcurl knows the addresses of the host."""
        place = place_of(call.url)
        if place is None:
            return None
        if call.proxy and not await self._may_go_to_proxy(place, call):
            return _refusal(self._guard, 0.0)
        if call.proxy and not call.proxy.startswith(_LOCAL_NAMES):
            return None
        began = time.monotonic()
        try:
            found = self._names.knows(place) or await self._names.look_up(
                place, min(CONNECT_TIMEOUT_S, call.deadline_s)
            )
        except TimeoutError:
            return Failure(FailureKind.DNS, f"nobody answers for the name of {place}", time.monotonic() - began)
        if not found:
            return Failure(FailureKind.DNS, f"the name of {place} leads nowhere", time.monotonic() - began)
        transfer.resolved = self._names.news(place)
        return None

    async def _may_go_to_proxy(self, place: str, call: Fetch) -> bool:
        """Every address that the name has here is allowed: which of them the proxy would take is not known."""
        addresses = await self._names.addresses(place, min(PROXIED_NAME_S, call.deadline_s))
        if not addresses:
            return self._guard.allows_unresolved(place.rpartition(":")[0])
        return all(map(self._guard.allows, addresses))

    async def _perform_in_turn(self, origin: str, transfer: Transfer, call: Fetch) -> Failure | None:
        """The first request to an origin makes the connection; those made meanwhile wait to share it, should it speak
        HTTP/2, instead of paying for a handshake each. (libcurl's PIPEWAIT holds them back until the first is answered
        if it does not.)"""
        if (first := self._dialling.get(origin)) is not None:
            await first.wait()
            return await self._perform(transfer, call)
        dialling = self._dialling[origin] = asyncio.Event()
        try:
            return await self._perform(transfer, call, dialling.set)
        finally:
            dialling.set()
            del self._dialling[origin]
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            self._met.add(origin)

    async def _perform(
        self, transfer: Transfer, call: Fetch, on_sending: Callable[[], None] | None = None
    ) -> Failure | None:
        try:
            transfer.prepare(call)
            transfer.on_sending = on_sending or transfer.on_sending
            await self._multi.perform(transfer.curl)
        except pycurl.error as error:
            code, message = error.args
            if (call.truncate and code == pycurl.E_WRITE_ERROR) or transfer.is_all_here or _leads_on(transfer):
                return None
            if code == pycurl.E_ABORTED_BY_CALLBACK:
                self._note_closing(origin_of(call.url))
            if transfer.kept_back and not transfer.sent:
                return await self._perform(transfer, replace(call, alone=True), on_sending)
            failure = _failure(transfer, call, code, message)
            if failure.kind is FailureKind.CONNECT and (place := place_of(call.url)):
                self._names.forget(place)
            return failure
        return None

    def _note_closing(self, origin: str) -> None:
        if len(self._closing) >= _MOST_MET:
            self._closing.clear()
        self._closing[origin] += 1

    def _exchange(self, transfer: Transfer, call: Fetch, started_at: float) -> Exchange | Failure:
        info = transfer.curl.getinfo
        status, latency_s = info(pycurl.RESPONSE_CODE), transfer.clock.ran_s
        # Through a proxy it is the proxy's.
        ip = "" if call.proxy else info(pycurl.PRIMARY_IP)
        if call.proxy and status == 407:
            return Failure(FailureKind.PROXY, "the proxy refuses our credentials", latency_s)
        if not call.proxy and not self._guard.allows(ip):
            return _refusal(self._guard, latency_s)
        if status < 200:
            return Failure(FailureKind.PROTOCOL, f"the host answered {status}, which is no final answer", latency_s)
        head = final_head(transfer.head.getvalue())
        if not is_whole(head):
            return Failure(FailureKind.PROTOCOL, "the connection was closed within the head", latency_s)
        reason, headers = parse_head(head)
        raw = transfer.body.getvalue()
        version = _VERSIONS[info(pycurl.INFO_HTTP_VERSION)]
        hold, transfer.hold = transfer.hold, None
        if hold is not None:
            hold.count(len(raw))
        return Exchange(
            call.url, status, reason, headers, head, raw, raw, version, ip, latency_s, started_at, hold=hold
        )


def most_unpacked_bytes(call: Fetch) -> int:
    """What is large as it comes, as sitemaps may be, is not much larger unpacked."""
    return max(call.max_bytes, min(call.max_bytes * DECODED_RATIO, MOST_DECODED_BYTES))


async def unpacked(exchange: Exchange, call: Fetch) -> Exchange | Failure:
    """Undoes the content codings of a big body, in a thread."""
    codings, most_bytes = _codings(exchange), most_unpacked_bytes(call)
    try:
        exchange.body, exchange.fault = await asyncio.to_thread(
            decode, exchange.raw, codings, most_bytes, call.truncate
        )
    except (DecodedTooLarge, CannotDecode) as error:
        return _undecoded(exchange, call, error)
    exchange.is_packed = False
    return exchange


def _unpacked_if_small(exchange: Exchange, call: Fetch) -> Exchange | Failure:
    exchange.is_packed = True
    if len(exchange.raw) > _INLINE_RAW_BYTES:
        return exchange
    try:
        inline_bytes = min(most_unpacked_bytes(call), _INLINE_BYTES)
        exchange.body, exchange.fault = decode(exchange.raw, _codings(exchange), inline_bytes)
        exchange.is_packed = False
    except DecodedTooLarge:
        pass
    except CannotDecode as error:
        return _undecoded(exchange, call, error)
    return exchange


def _codings(exchange: Exchange) -> str:
    return ",".join(exchange.headers.get_all("content-encoding"))


def _undecoded(exchange: Exchange, call: Fetch, error: DecodedTooLarge | CannotDecode) -> Failure:
    exchange.let_go()
    if isinstance(error, CannotDecode):
        return Failure(FailureKind.UNDECODABLE, f"{_codings(exchange)}: {error}", exchange.latency_s)
    detail = f"the body is larger than {most_unpacked_bytes(call)} bytes when decoded"
    return Failure(FailureKind.TOO_LARGE, detail, exchange.latency_s)


def _leads_on(transfer: Transfer) -> bool:
    """Whether a redirect has come with all of its head: whatever becomes of its body, nobody reads that."""
    if transfer.curl.getinfo(pycurl.RESPONSE_CODE) not in REDIRECTS:
        return False
    head = final_head(transfer.head.getvalue())
    return is_whole(head) and "location" in parse_head(head)[1]


def _failure(transfer: Transfer, call: Fetch, code: int, message: str) -> Failure:
    latency_s = transfer.clock.ran_s
    if transfer.refused and not transfer.dialled and call.proxy:
        return Failure(FailureKind.PROXY, "the proxy's address is not allowed: it is private or reserved", latency_s)
    if transfer.refused and not transfer.dialled:
        return _refusal(transfer.guard, latency_s)
    if code == pycurl.E_ABORTED_BY_CALLBACK:
        return Failure(FailureKind.PROTOCOL, "the host closed the connection without an answer", latency_s)
    if transfer.head.tell() > MAX_HEAD_BYTES:
        return Failure(FailureKind.TOO_LARGE, f"the head is larger than {MAX_HEAD_BYTES} bytes", latency_s)
    if code == _E_TOO_LARGE and not message:
        message = f"a line of the head is larger than {MAX_HEAD_LINE_BYTES} bytes"
    return Failure(_kind(transfer, call, code), message, latency_s)


def _kind(transfer: Transfer, call: Fetch, code: int) -> FailureKind:
    info = transfer.curl.getinfo
    kind = _KINDS.get(code, FailureKind.PROTOCOL)
    if kind is FailureKind.TIMEOUT and not info(pycurl.PRIMARY_IP):
        kind = FailureKind.CONNECT if transfer.dialled else FailureKind.DNS
    unreached = kind in (FailureKind.CONNECT, FailureKind.DNS) or info(pycurl.HTTP_CONNECTCODE) // 100 not in (0, 2)
    return FailureKind.PROXY if call.proxy and unreached else kind


def _refusal(guard: Guard, latency_s: float) -> Failure:
    return Failure(FailureKind.ADDRESS_REFUSED, guard.refusal, latency_s)


def _authorities() -> str:
    """Whom we believe about certificates; SSL_CERT_FILE is what OpenSSL, curl and Python look at too."""
    given = os.environ.get("SSL_CERT_FILE")
    if given and not os.access(given, os.R_OK):
        raise UsageError(f"SSL_CERT_FILE is {given!r}, which cannot be read: name a file of certificates, or unset it")
    return given or certifi.where()


def _connections() -> int:
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource

    # Half of the files this process may open: the rest is for its databases, archive and connections in use.
    return min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
