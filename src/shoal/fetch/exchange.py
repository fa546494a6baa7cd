"""What a fetch gives back: an Exchange if a whole answer came, a Failure if none did. Neither is an exception."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from urllib.parse import quote

import ada_url

from shoal.fetch.intake import Hold

REDIRECTS = frozenset({300, 301, 302, 303, 307, 308})
_BLANKS = (b"\n\r\n", b"\n\n")
_FOLD = re.compile(r"\r?\n[ \t]+")
_NO_CODING = re.compile(rb"\ntransfer-encoding:[ \t,]*+(?:identity|\r?\n)", re.IGNORECASE)
_MOST_DIGITS = 15
_ASCII = "".join(map(chr, range(128)))


class FailureKind(StrEnum):
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    ADDRESS_REFUSED = "address_refused"
    PROTOCOL = "protocol"
    PROXY = "proxy"
    UNDECODABLE = "undecodable"


@dataclass(frozen=True, slots=True)
class Failure:
    """No whole answer; `detail` is for people and names no internal address."""

    kind: FailureKind
    detail: str
    latency_s: float


class Headers:
    """Header fields in their order, names without regard to case, values as latin-1."""

    __slots__ = ("_first", "pairs")

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self.pairs = pairs
        # Reversed, so that of repeated names the first one stays.
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
    url: str
    status: int
    reason: str
    headers: Headers
    head: bytes
    """The response head as it came, from status line to blank line."""
    raw: bytes
    """The body as it came, without the transfer coding."""
    body: bytes
    """The body without its content codings, or with them while `is_packed`."""
    version: str
    ip: str
    latency_s: float
    started_at: float
    fault: str | None = None
    """What is wrong with a content coding, if anything is: the body may be a part of what was sent."""
    hold: Hold | None = None
    """Of a big body: what it takes of the intake until `let_go`."""
    is_packed: bool = False
    body_digest: str = ""
    """Of a big body, if it was taken ahead; so is that of `raw`."""
    raw_digest: str = ""

    @property
    def is_small(self) -> bool:
        return self.hold is None and not self.is_packed

    def let_go(self) -> None:
        """The body is done with, or will be soon."""
        if self.hold is not None:
            self.hold.release()

    @property
    def is_coded(self) -> bool:
        return bool(self.raw) and "content-encoding" in self.headers

    @property
    def location(self) -> str | None:
        """Where a redirect leads, absolute; None if this is no redirect or leads nowhere."""
        if self.status not in REDIRECTS or "location" not in self.headers:
            return None
        try:
            return str(ada_url.join_url(self.url, _spelt(self.headers.get("location").encode("latin-1"))))
        except ValueError:
            return None


def _spelt(location: bytes) -> str:
    """Browsers read the field as UTF-8; bytes of another charset go back to the host as they came."""
    try:
        return location.decode()
    except UnicodeDecodeError:
        return quote(location, safe=_ASCII)


def final_head(received: bytes) -> bytes:
    """The head of the answer itself, out of all header lines of a transfer.

    Before it stand interim (1xx) answers and a proxy's reply to CONNECT, after it trailers.
    """
    start = received.rfind(b"\nHTTP/") + 1
    ends = [at + len(blank) for blank in _BLANKS if (at := received.find(blank, start)) >= 0]
    return received[start : min(ends)] if ends else received[start:]


def is_whole(head: bytes) -> bool:
    return head.endswith(_BLANKS)


def length_despite_coding(received: bytes) -> int | None:
    """Of a body whose transfer coding is `identity` or empty, out of all header lines of its transfer.

    To browsers it ends by its Content-Length; libcurl obeys RFC 9112 and waits until the connection is closed.
    """
    if _NO_CODING.search(received) is None:
        return None
    _, headers = parse_head(final_head(received))
    codings = ",".join(headers.get_all("transfer-encoding")).lower().replace("identity", "")
    length = headers.get("content-length")
    if "transfer-encoding" not in headers or codings.strip(" \t,") or not length.isdecimal():
        return None
    return int(length) if len(length) <= _MOST_DIGITS else None


def parse_head(head: bytes) -> tuple[str, Headers]:
    """Reason phrase and header fields; lines that are no field are left out, folded ones joined."""
    text = head.decode("latin-1")
    if "\n " in text or "\n\t" in text:
        text = _FOLD.sub(" ", text)
    first, *lines = text.split("\n")
    fields = [line.partition(":") for line in lines]
    pairs = [(name.strip(), value.strip()) for name, colon, value in fields if colon]
    return first.partition(" ")[2].partition(" ")[2].strip(), Headers(pairs)


def retry_after_s(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After field, given as seconds or as a date; None if it is neither."""
    value = value.strip()
    if not value:
        return None
    if value.isascii() and value.isdecimal():
        return float(value[:12])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None
