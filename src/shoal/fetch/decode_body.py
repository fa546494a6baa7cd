"""Decodes the body of an exchange by its content codings: a small one at once, a big one in a thread."""

from __future__ import annotations

import asyncio

from shoal.fetch.content_decoding import CannotDecode, DecodedTooLarge, decode
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind

DECODED_RATIO = 4
MOST_DECODED_BYTES = 40_000_000
# Decoding more would block the event loop, and other hosts with it, for too long.
_INLINE_RAW_BYTES = 1 << 18
_INLINE_BYTES = 1 << 20


def most_unpacked_bytes(call: Fetch) -> int:
    """A body that is large as received, like some sitemaps, is not much larger when decoded."""
    return max(call.max_bytes, min(call.max_bytes * DECODED_RATIO, MOST_DECODED_BYTES))


async def unpacked(exchange: Exchange, call: Fetch) -> Exchange | Failure:
    """Decodes the content codings of a big body, in a thread."""
    codings, most_bytes = _codings(exchange), most_unpacked_bytes(call)
    try:
        exchange.body, exchange.fault = await asyncio.to_thread(
            decode, exchange.raw, codings, most_bytes, call.truncate
        )
    except (DecodedTooLarge, CannotDecode) as error:
        return _decode_failure(exchange, call, error)
    exchange.is_packed = False
    return exchange


def unpacked_if_small(exchange: Exchange, call: Fetch) -> Exchange | Failure:
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
        return _decode_failure(exchange, call, error)
    return exchange


def _codings(exchange: Exchange) -> str:
    return ",".join(exchange.headers.get_all("content-encoding"))


def _decode_failure(exchange: Exchange, call: Fetch, error: DecodedTooLarge | CannotDecode) -> Failure:
    exchange.let_go()
    if isinstance(error, CannotDecode):
        return Failure(FailureKind.UNDECODABLE, f"{_codings(exchange)}: {error}", exchange.latency_s)
    detail = f"the body is larger than {most_unpacked_bytes(call)} bytes when decoded"
    return Failure(FailureKind.TOO_LARGE, detail, exchange.latency_s)
