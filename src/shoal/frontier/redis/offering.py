"""Offers on their way to Redis: without what was offered lately, by host, in parts that Redis does in a moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgpack

from shoal.frontier.recent import Recent
from shoal.frontier.redis.packing import band_of, line_of, trail_bytes
from shoal.model import Offer, Target
from shoal.urls import domain_of

PART = 500
"""Requests in one call of a function, some milliseconds of Redis."""
_GROUP = 64


class Group(NamedTuple):
    """Links of one page to one host."""

    offer: Offer
    host: str
    targets: list[Target]

    def fields(self) -> list[str | bool]:
        domain = domain_of(self.host)
        lines = (text for each in self.targets for text in (str(each.fingerprint), line_of(each)))
        return [self.host, domain if domain != self.host else False, *lines]

    def rest(self) -> Offer:
        return Offer(self.offer.job, self.targets, self.offer.trail)


def parts_of(offers: Sequence[Offer], recent: Recent) -> list[list[Group]]:
    unknown = [Offer(offer.job, _unknown(offer, recent), offer.trail) for offer in offers]
    return list(_cut(_grouped(unknown)))


def fields_of(part: list[Group]) -> list[list[Any]]:
    """As the function takes them: the groups of a page after what they share."""
    offers: list[list[Any]] = []
    last = None
    for group in part:
        if group.offer is not last:
            last = group.offer
            offers.append([last.job, band_of(last.trail), trail_bytes(last.trail)])
        offers[-1].append(group.fields())
    return offers


def name_of(fields: list[list[Any]]) -> bytes:
    """What a part is known by in its call: its content, because a repeated call may be cut in other places."""
    return blake2b(msgpack.packb(fields), digest_size=8).digest()


def _unknown(offer: Offer, recent: Recent) -> list[Target]:
    young, old = recent.of(offer.job)
    return [target for target in offer.targets if target.fingerprint not in young and target.fingerprint not in old]


def _grouped(offers: Sequence[Offer]) -> Iterator[Group]:
    for offer in offers:
        by_host: dict[str, list[Target]] = {}
        for target in offer.targets:
            by_host.setdefault(target.host, []).append(target)
        for host, targets in by_host.items():
            for start in range(0, len(targets), _GROUP):
                yield Group(offer, host, targets[start : start + _GROUP])


def _cut(groups: Iterator[Group]) -> Iterator[list[Group]]:
    part: list[Group] = []
    n = 0
    for group in groups:
        if n + len(group.targets) > PART:
            yield part
            part, n = [], 0
        part.append(group)
        n += len(group.targets)
    if part:
        yield part
