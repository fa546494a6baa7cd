"""Bodies of megabytes are hashed in a thread: 40 MB take tens of milliseconds, and all hosts would wait."""

from __future__ import annotations

import asyncio

from shoal.fetch.exchange import Exchange
from shoal.store.archive.warc import digest

AT_ONCE_BYTES = 1_000_000
"""What is no larger is hashed where its digest is wanted."""


async def digest_aside(answer: Exchange) -> None:
    """Before its page is marked as being parsed: while that is so, nobody may wait."""
    if len(answer.body) > AT_ONCE_BYTES or len(answer.raw) > AT_ONCE_BYTES:
        await asyncio.to_thread(_digest, answer)


def _digest(answer: Exchange) -> None:
    answer.body_digest = digest(answer.body)
    answer.raw_digest = answer.body_digest if answer.raw is answer.body else digest(answer.raw)
