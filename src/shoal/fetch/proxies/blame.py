"""Who is to blame for what came of a request through a proxy: nobody, the proxy, or perhaps the host."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from shoal.fetch.exchange import NOTHING_SENT, Exchange, Failure, FailureKind

_UNCLEAR = frozenset({FailureKind.TIMEOUT, FailureKind.PROTOCOL, FailureKind.TLS, FailureKind.CERTIFICATE})
_GATEWAY_STATUSES = frozenset({502, 504})


class Blame(Enum):
    NOBODY = "nobody"
    PROXY = "proxy"
    """The proxy does not work. The request is repeated through another one, and counts against nobody."""
    UNCLEAR = "unclear"
    """The proxy or the host: other proxies will tell."""
    HOST = "host"
    BLOCK = "block"
    """The host refuses crawlers, or this proxy."""


class Judgement(NamedTuple):
    blame: Blame
    reason: str = ""
    """For people, without secrets."""
    latency_s: float = 0.0
    size: int = 0
    was_noted: bool = False
    """Of an answer that was noted before as good: it is not paid for twice."""


def judge(answer: Exchange | Failure) -> Judgement:
    """By one answer alone. A block is recognized by its page, elsewhere."""
    if isinstance(answer, Failure):
        return Judgement(_blame(answer), answer.detail, answer.latency_s)
    size = len(answer.head) + len(answer.raw)
    return judge_status(answer.status)._replace(latency_s=answer.latency_s, size=size)


def judge_status(status: int) -> Judgement:
    # For an http:// target the proxy itself may give this answer.
    if status in _GATEWAY_STATUSES:
        return Judgement(Blame.UNCLEAR, f"answered {status}")
    return Judgement(Blame.NOBODY)


def _blame(failure: Failure) -> Blame:
    if failure.kind is FailureKind.PROXY:
        return Blame.UNCLEAR if failure.is_refused_by_proxy else Blame.PROXY
    if failure.kind in _UNCLEAR and not failure.wants_repeat:
        return Blame.UNCLEAR
    return Blame.HOST if failure.kind in NOTHING_SENT else Blame.NOBODY
