"""The result of a fetch: an Exchange if a complete response arrived, otherwise a Failure. Neither is an exception."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import quote

import ada_url

from shoal.fetch.body_memory import BodyHold

if TYPE_CHECKING:
    from shoal.fetch.rendered_page import RenderedPage

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
RENDERED_TYPE = "text/html; charset=utf-8"
"""Whatever the charset of the page was."""
_BLANKS = (b"\n\r\n", b"\n\n")
_FOLD = re.compile(r"\r?\n[ \t]+")
_NO_CODING = re.compile(rb"\ntransfer-encoding:[ \t,]*+(?:identity|\r?\n)", re.IGNORECASE)
_CONTENT_TYPE = re.compile(rb"\ncontent-type:[ \t]*+([^\r\n]*+)", re.IGNORECASE)
MOST_DIGITS = 15
"""Of a Content-Length that is believed."""
_ASCII = "".join(map(chr, range(128)))


class FailureKind(StrEnum):
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    CERTIFICATE = "certificate"
    CLIENT_CERTIFICATE = "client_certificate"
    PLAIN_HTTP = "plain_http"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    ADDRESS_REFUSED = "address_refused"
    PROTOCOL = "protocol"
    PROXY = "proxy"
    UNDECODABLE = "undecodable"
    RENDER = "render"
    """The browser could not load the page: it crashed, or did too much."""
    STEP = "step"
    """A step on the page failed."""
    NO_PLAYWRIGHT = "no_playwright"
    """The request wants its page in Playwright, which is not installed."""


NOTHING_SENT = frozenset({FailureKind.ADDRESS_REFUSED, FailureKind.CERTIFICATE})
"""We refused the host, by the rules of the job: there is nothing to learn about how it answers."""


class FetchAborted(Exception):
    """The fetch ended through no fault of its request or host, which may be tried again at once."""


@dataclass(frozen=True, slots=True)
class Failure:
    """No complete response. `detail` is for people and names no internal address."""

    kind: FailureKind
    detail: str
    latency_s: float
    wants_repeat: bool = False
    """A second request may succeed: it reads the answer in another way, or the page's browser was to blame."""
    is_refused_by_proxy: bool = False
    """The proxy works, but does not or cannot connect to the host."""


class Headers:
    """Header fields in their order. Names ignore case; values are latin-1."""

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs
        # Reversed, so that the first of repeated names stays.
        self._first = {name.lower(): value for name, value in reversed(pairs)}

    def get(self, name: str, default: str = "") -> str:
        return self._first.get(name.lower(), default)

    def get_all(self, name: str) -> list[str]:
        wanted = name.lower()
        if wanted not in self._first:
            return []
        return [value for name, value in self.pairs if name.lower() == wanted]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._first

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)


@dataclass(slots=True)
class Exchange:
    """A request and its complete response."""

    url: str
    status: int
    reason: str
    headers: Headers
    """They fit `body`: what only made sense on the wire may differ from `head`."""
    head: bytes
    """The response head as received, from status line to blank line."""
    raw: bytes
    """The body as received, without the transfer coding."""
    body: bytes
    """The decoded body; not decoded yet while `is_packed`."""
    version: str
    ip: str
    latency_s: float
    started_at: float
    fault: str | None = None
    """The error in a content coding, if there was one: the body may be incomplete."""
    hold: BodyHold | None = None
    """The memory that a big body takes, until `let_go`."""
    is_packed: bool = False
    wants_repeat: bool = False
    """The host refused the credentials as they were sent. The next request sends them in the way that it asks for."""
    body_digest: str = ""
    """Digest of a big body, if it was computed early; the same for `raw`."""
    raw_digest: str = ""
    network_s: float | None = None
    """The part of the latency that the host and the network took; None: not known."""
    proxy: str = ""
    """The name of the proxy that it came through."""
    rendered: RenderedPage | None = None
    """If a browser loaded the page: then `body` is what its scripts made of `raw`."""
    asks_for_login: bool | None = None
    """Whether the body is a login form; None until somebody has looked."""

    @property
    def wire_bytes(self) -> int:
        """What was received for it."""
        return len(self.raw) if self.rendered is None else max(len(self.raw), self.rendered.wire_bytes)

    @property
    def is_small(self) -> bool:
        return self.hold is None and not self.is_packed

    def let_go(self) -> None:
        """The body is processed, or will be soon."""
        if self.hold is not None:
            self.hold.release()

    @property
    def is_coded(self) -> bool:
        return bool(self.raw) and "content-encoding" in self.headers

    @property
    def location(self) -> str | None:
        """The absolute target of a redirect, also of one by a script. None if this is no redirect, or has no target."""
        if self.rendered is not None and self.rendered.leads_to:
            return self.rendered.leads_to
        if self.status not in REDIRECTS or "location" not in self.headers:
            return None
        try:
            return str(ada_url.join_url(self.url, _spelt(self.headers.get("location").encode("latin-1"))))
        except ValueError:
            return None


def _spelt(location: bytes) -> str:
    """Browsers read the field as UTF-8. Bytes of another charset are sent back to the host unchanged."""
    try:
        return location.decode()
    except UnicodeDecodeError:
        return quote(location, safe=_ASCII)


def type_of_success(received: bytes) -> str | None:
    """The content type of an answer, from the header lines so far. None if its status is not 2xx.

    Faster than reading all fields, because every answer is asked for it.
    """
    start = received.rfind(b"\nHTTP/") + 1
    status = received[start : start + 64].split(b" ", 2)
    if len(status) < 2 or not status[1].startswith(b"2"):
        return None
    declared = _CONTENT_TYPE.search(received, start)
    return declared[1].decode("latin-1") if declared else ""


def final_head(received: bytes) -> bytes:
    """The head of the response itself, among all header lines of a transfer.

    Interim (1xx) responses and a proxy's reply to CONNECT come before it, trailers after it.
    """
    start = received.rfind(b"\nHTTP/") + 1
    ends = [at + len(blank) for blank in _BLANKS if (at := received.find(blank, start)) >= 0]
    return received[start : min(ends)] if ends else received[start:]


def is_complete_head(head: bytes) -> bool:
    return head.endswith(_BLANKS)


def length_despite_coding(received: bytes) -> int | None:
    """Content-Length of a body whose transfer coding is `identity` or empty, among all header lines of its transfer.

    Browsers end such a body by its Content-Length. libcurl follows RFC 9112 and waits until the connection is closed.
    """
    if _NO_CODING.search(received) is None:
        return None
    _, headers = parse_head(final_head(received))
    codings = ",".join(headers.get_all("transfer-encoding")).lower().replace("identity", "")
    length = headers.get("content-length")
    if "transfer-encoding" not in headers or codings.strip(" \t,") or not length.isdecimal():
        return None
    return int(length) if len(length) <= MOST_DIGITS else None


def parse_head(head: bytes) -> tuple[str, Headers]:
    """Reason phrase and header fields. Joins folded lines and skips lines that are no field."""
    text = head.decode("latin-1")
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    first, *lines = text.split("\n")
    fields = [line.partition(":") for line in lines]
    pairs = [(name.strip(), value.strip()) for name, colon, value in fields if colon]
    return first.partition(" ")[2].partition(" ")[2].strip(), Headers(pairs)


def retry_after_s(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After field, which holds seconds or a date; None if it is neither."""
    value = value.strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return float(value[:12])
    try:
        # Imported here only: few answers have such a date.
        from email.utils import parsedate_to_datetime

        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None
