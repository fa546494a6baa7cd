"""Prepares offers for Redis: without recently offered links, grouped by host, in parts that Redis handles quickly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgpack

from shoal.frontier.recent_offers import RecentOffers
from shoal.frontier.redis.serialize import band_of, line_of, trail_bytes
from shoal.model import Offer, Target
from shoal.urls import domain_of

PART = 500
"""Requests in one function call, which takes Redis some milliseconds."""
_GROUP = 64


class HostOffers(NamedTuple):
    """Links of one page to one host."""

    offer: Offer
    host: str
    targets: list[Target]

    def fields(self) -> list[str | bool]:
        domain = domain_of(self.host)
        lines = (text for each in self.targets for text in (str(each.fingerprint), line_of(each)))
        return [self.host, domain if domain != self.host else False, *lines]

    def to_offer(self) -> Offer:
        return Offer(self.offer.job, self.targets, self.offer.trail)


def parts_of(offers: Sequence[Offer], recent: RecentOffers) -> list[list[HostOffers]]:
    unknown = [Offer(offer.job, _unknown(offer, recent), offer.trail) for offer in offers]
    return list(_cut(_grouped(unknown)))


def fields_of(part: list[HostOffers]) -> list[list[Any]]:
    """The arguments of the Lua function: the groups of a page follow the fields that they share."""
    offers: list[list[Any]] = []
    last = None
    for group in part:
        if group.offer is not last:
            last = group.offer
            offers.append([last.job, band_of(last.trail), trail_bytes(last.trail)])
        offers[-1].append(group.fields())
    return offers


def digest_of_part(fields: list[list[Any]]) -> bytes:
    """Identifies a part within its call by its content, because a repeated call may be split in other places."""
    return blake2b(msgpack.packb(fields), digest_size=8).digest()


def _unknown(offer: Offer, recent: RecentOffers) -> list[Target]:
    young, old = recent.of(offer.job)
    return [target for target in offer.targets if target.fingerprint not in young and target.fingerprint not in old]


def _grouped(offers: Sequence[Offer]) -> Iterator[HostOffers]:
    for offer in offers:
        by_host: dict[str, list[Target]] = {}
        for target in offer.targets:
            by_host.setdefault(target.host, []).append(target)
        for host, targets in by_host.items():
            for start in range(0, len(targets), _GROUP):
                yield HostOffers(offer, host, targets[start : start + _GROUP])


def _cut(groups: Iterator[HostOffers]) -> Iterator[list[HostOffers]]:
    part: list[HostOffers] = []
    n = 0
    for group in groups:
        if n + len(group.targets) > PART:
            yield part
            part, n = [], 0
        part.append(group)
        n += len(group.targets)
    if part:
        yield part
