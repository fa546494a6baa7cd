"""The Fetcher: libcurl in the event loop, with one connection cache and one address guard.

It follows no redirects, supports only http and https, ignores proxies from the environment, and returns bodies both as
received and decoded.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import pycurl

from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.body_memory import BodyMemory
from shoal.fetch.closed_connections import ClosedConnections
from shoal.fetch.curl_failures import REFUSED_HEAD, address_refusal, curl_failure
from shoal.fetch.curl_transfer import Fetch, Options, Transfer
from shoal.fetch.decode_body import unpacked, unpacked_if_small
from shoal.fetch.dns import KNOWN_S, DnsResolver, place_of
from shoal.fetch.exchange import REDIRECTS, Exchange, Failure, FailureKind, final_head, is_complete_head, parse_head
from shoal.fetch.platform_multi import Multi
from shoal.fetch.proxies.proxy_answers import is_from_proxy
from shoal.fetch.tls_policy import USUAL, TlsPolicy
from shoal.urls import origin_of

if TYPE_CHECKING:
    from shoal.fetch.digest_auth import DigestChallenges
    from shoal.fetch.lenient_http import LenientFetcher
    from shoal.fetch.tls_probe import TlsProbe

CONNECT_TIMEOUT_S = 10
PROXIED_NAME_S = 5.0
"""How long to resolve a name that a proxy will resolve again. Many networks with a proxy cannot resolve other names."""
# For these, libcurl sends the proxy an address, which it resolves itself.
_LOCAL_NAMES = ("socks5://", "socks4://")
# With fewer than the active hosts, every request needs a handshake. But each cached connection holds a file.
_MAX_CONNECTIONS = 2_000

# Most pages arrive in one read. libcurl's default of 16 KB needs two.
_READ_BYTES = 1 << 17

_MOST_CONTACTED = 100_000

_VERSIONS = {1: "1.0", 2: "1.1", 3: "2", 30: "3"}


class Fetcher:
    """Belongs to the event loop of its first fetch. Close it when nothing is in flight any more."""

    def __init__(
        self,
        agent: str,
        guard: AddressGuard,
        body_memory: BodyMemory | None = None,
        names: DnsResolver | None = None,
        tls: TlsPolicy = USUAL,
    ) -> None:
        self.agent = agent
        self._guard = guard
        self._body_memory = body_memory or BodyMemory()
        self._multi = Multi()
        self._multi.setopt(pycurl.M_MAXCONNECTS, _connections())
        self._names = names or DnsResolver()
        self._idle: list[Transfer] = []
        self._active: dict[Transfer, float] = {}
        """Start time of each transfer."""
        self._dialling: dict[str, asyncio.Event] = {}
        self._contacted: set[str] = set()
        """Origins to which a connection was made or tried."""
        self._closed = ClosedConnections()
        self._answered: set[str] = set()
        """Origins that have answered over TLS."""
        self._malformed: set[str] = set()
        """Origins whose heads libcurl refuses."""
        self._agent = agent
        self._tls = tls
        self._options: Options = [
            (pycurl.USERAGENT, agent),
            *tls.curl_options(),
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

    @cached_property
    def _lenient(self) -> LenientFetcher:
        # Imported here only: few hosts need it.
        from shoal.fetch.lenient_http import LenientFetcher

        return LenientFetcher(self._agent, self._guard, self._names, self._tls)

    @cached_property
    def _digests(self) -> DigestChallenges:
        # Imported here only: few requests have credentials.
        from shoal.fetch.digest_auth import DigestChallenges

        return DigestChallenges()

    @cached_property
    def _tls_probe(self) -> TlsProbe:
        # Imported here only: it is for hosts that cannot be reached.
        from shoal.fetch.tls_probe import TlsProbe

        return TlsProbe(self._multi, self._guard, self._options, CONNECT_TIMEOUT_S)

    @property
    def is_full(self) -> bool:
        """So many big bodies are not processed yet that other transfers pause."""
        return self._body_memory.is_full

    async def fetch(self, call: Fetch) -> Exchange | Failure:
        """For callers with few fetches: a body of any size is returned decoded, and does not count as held."""
        answer = await self.fetch_packed(call)
        if answer.wants_repeat:
            if isinstance(answer, Exchange):
                answer.let_go()
            answer = await self.fetch_packed(call)
        if isinstance(answer, Failure):
            return answer
        answer.let_go()
        return await unpacked(answer, call) if answer.is_packed else answer

    async def fetch_packed(self, call: Fetch) -> Exchange | Failure:
        """A big body is returned as received. Call `unpacked` when there is memory for it, and release it later."""
        if call.proxy and not self._guard.allows_target(call.url):
            return address_refusal(self._guard, 0.0)
        if self._closed and self._closed.needs_new_connection(origin_of(call.url)):
            call = replace(call, alone=True)
        asked, call = call, self._digests.signed(call) if call.credentials else call
        if self._malformed and not call.proxy and origin_of(call.url) in self._malformed:
            answer = await self._lenient.fetch(call)
        else:
            answer = await self._fetch_by_curl(call)
        if isinstance(answer, Exchange) and call.url.startswith("https:"):
            _add(self._answered, origin_of(call.url))
        if isinstance(answer, Exchange) and asked.credentials:
            answer.wants_repeat = self._digests.note(asked, call, answer)
        if isinstance(answer, Exchange) and answer.is_coded and answer.location is None:
            return unpacked_if_small(answer, call)
        return answer

    async def _fetch_by_curl(self, call: Fetch) -> Exchange | Failure:
        started_at = time.time()
        transfer = (
            self._idle.pop()
            if self._idle
            else Transfer(self._guard, self._multi.unusable_ports, self._body_memory, self._options)
        )
        self._active[transfer] = started_at
        try:
            failure = await self._name_to(transfer, call)
            if failure is not None:
                return failure
            if call.url.startswith("https:") and (origin := origin_of(call.url)) not in self._contacted:
                failure = await self._perform_in_turn(origin, transfer, call)
            else:
                failure = await self._perform(transfer, call)
            return failure or self._exchange(transfer, call, started_at)
        finally:
            del self._active[transfer]
            transfer.forget()
            self._idle.append(transfer)

    async def may_pass_on(self, call: Fetch) -> bool:
        """Whether the target may be named to somebody else, who fetches it."""
        place = place_of(call.url)
        return self._guard.allows_target(call.url) and (place is None or await self._may_go_to_proxy(place, call))

    def refusal(self) -> Failure:
        return address_refusal(self._guard, 0.0)

    def slow(self, after_s: float, bytes_per_s: float) -> int:
        """Requests that have run for at least `after_s` and brought less than `bytes_per_s` since they began."""
        now = time.time()
        since = now - after_s
        return sum(
            began < since and transfer.received_bytes < bytes_per_s * (now - began)
            for transfer, began in self._active.items()
        )

    async def aclose(self) -> None:
        await self._names.aclose()
        await self._multi.aclose()
        for transfer in self._idle:
            transfer.curl.close()
        self._idle.clear()

    async def _name_to(self, transfer: Transfer, call: Fetch) -> Failure | None:
        """Makes sure that libcurl knows the addresses of the host."""
        place = place_of(call.url)
        if place is None:
            return None
        if call.proxy and not await self._may_go_to_proxy(place, call):
            return address_refusal(self._guard, 0.0)
        if call.proxy and not call.proxy.startswith(_LOCAL_NAMES):
            return None
        began = time.monotonic()
        try:
            found = self._names.knows(place) or await self._names.look_up(
                place, min(CONNECT_TIMEOUT_S, call.deadline_s)
            )
        except TimeoutError:
            return Failure(FailureKind.DNS, f"no name server answers for {place}", time.monotonic() - began)
        if not found:
            return Failure(FailureKind.DNS, f"the name of {place} has no address", time.monotonic() - began)
        transfer.resolved = self._names.take_update(place)
        return None

    async def _may_go_to_proxy(self, place: str, call: Fetch) -> bool:
        """Whether every address of the name is allowed: which of them the proxy would use is not known."""
        if call.remote_dns:
            return self._guard.allows_unresolved(place.rpartition(":")[0])
        addresses = await self._names.addresses(place, min(PROXIED_NAME_S, call.deadline_s))
        if not addresses:
            return self._guard.allows_unresolved(place.rpartition(":")[0])
        return all(map(self._guard.allows, addresses))

    async def _perform_in_turn(self, origin: str, transfer: Transfer, call: Fetch) -> Failure | None:
        """The first request to an origin opens the connection. Requests made meanwhile wait to share it, in case it
        speaks HTTP/2, instead of a handshake each. (libcurl's PIPEWAIT would hold them until the first response if it
        does not.)"""
        if (first := self._dialling.get(origin)) is not None:
            await first.wait()
            return await self._perform(transfer, call)
        dialling = self._dialling[origin] = asyncio.Event()
        try:
            return await self._perform(transfer, call, dialling.set)
        finally:
            dialling.set()
            del self._dialling[origin]
            _add(self._contacted, origin)

    async def _perform(
        self, transfer: Transfer, call: Fetch, on_sending: Callable[[], None] | None = None
    ) -> Failure | None:
        try:
            transfer.prepare(call)
            transfer.on_sending = on_sending or transfer.on_sending
            transfer.network_s = await self._multi.perform(transfer.curl)
        except pycurl.error as error:
            code, message = error.args
            if (call.truncate and code == pycurl.E_WRITE_ERROR) or transfer.is_complete or _is_redirect(transfer):
                return None
            if transfer.is_unwanted or (code == pycurl.E_FILESIZE_EXCEEDED and transfer.has_unwanted_type()):
                return None
            if code == pycurl.E_ABORTED_BY_CALLBACK:
                self._closed.note(origin_of(call.url))
            if transfer.withheld and not transfer.sent:
                return await self._perform(transfer, replace(call, alone=True), on_sending)
            if code == pycurl.E_PEER_FAILED_VERIFICATION and not transfer.curl.getinfo(pycurl.PROXY_SSL_VERIFYRESULT):
                verified = transfer.curl.getinfo(pycurl.SSL_VERIFYRESULT)
                latency_s = transfer.clock.ran_s
                words = await self._tls_probe.why_refused(call, verified, message)
                return Failure(FailureKind.CERTIFICATE, words, latency_s)
            if await self._tls_probe.asks_for_certificate(call, code, message, self._answered):
                words = "the host asks for a client certificate, and Shoal has none"
                return Failure(FailureKind.CLIENT_CERTIFICATE, words, transfer.clock.ran_s)
            if REFUSED_HEAD in message and not call.proxy:
                _add(self._malformed, origin_of(call.url))
                return Failure(FailureKind.PROTOCOL, message, transfer.clock.ran_s, wants_repeat=True)
            failure = curl_failure(transfer, call, code, message)
            if failure.kind is FailureKind.CONNECT and (place := place_of(call.url)):
                self._names.forget(place)
            return failure
        return None

    def _exchange(self, transfer: Transfer, call: Fetch, started_at: float) -> Exchange | Failure:
        info = transfer.curl.getinfo
        status, latency_s = info(pycurl.RESPONSE_CODE), transfer.clock.ran_s
        # With a proxy, this is the proxy's address.
        ip = "" if call.proxy else info(pycurl.PRIMARY_IP)
        if not call.proxy and not self._guard.allows(ip):
            return address_refusal(self._guard, latency_s)
        if status < 200:
            return Failure(FailureKind.PROTOCOL, f"the host answered {status}, which is not a final status", latency_s)
        head = final_head(transfer.head.getvalue())
        if not is_complete_head(head):
            return Failure(FailureKind.PROTOCOL, "the host closed the connection within the response head", latency_s)
        reason, headers = parse_head(head)
        if call.proxy and is_from_proxy(call.url, status, headers):
            words = "the proxy refuses our credentials" if status == 407 else f"the proxy itself answered {status}"
            # The site may have forged the answer, and must not stop the proxy for other hosts.
            return Failure(FailureKind.PROXY, words, latency_s, is_refused_by_proxy=True)
        raw = transfer.body.getvalue()
        version = _VERSIONS[info(pycurl.INFO_HTTP_VERSION)]
        hold, transfer.hold = transfer.hold, None
        # HTTP/2 sends data of its own in between, and that of other requests.
        network_s = transfer.network_s if version.startswith("1.") else None
        if hold is not None:
            hold.count(len(raw))
        exchange = Exchange(call.url, status, reason, headers, head, raw, raw, version, ip, latency_s, started_at)
        exchange.hold = hold
        exchange.network_s = None if network_s is None else min(network_s, latency_s)
        return exchange


def _add(origins: set[str], origin: str) -> None:
    if len(origins) >= _MOST_CONTACTED:
        origins.clear()
    origins.add(origin)


def _is_redirect(transfer: Transfer) -> bool:
    """Whether the complete head of a redirect has arrived. Its body does not matter: nobody reads it."""
    if transfer.curl.getinfo(pycurl.RESPONSE_CODE) not in REDIRECTS:
        return False
    head = final_head(transfer.head.getvalue())
    return is_complete_head(head) and "location" in parse_head(head)[1]


def _connections() -> int:
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource

    # Half of the files that this process may open. The rest is for its databases, archive and active connections.
    return min(_MAX_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
