"""Offers of requests: those that were found together share a trail, and what differs between them is in their notes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from shoal.model import Lease, Offer, Target, Trail
from shoal.scrapy.request_json import WHOLE, PackedRequest
from shoal.urls import fingerprint

_DIFFERING = ("m", "k")
"""Objects of which each request may have a few keys of its own: meta and cb_kwargs."""


class FoundRequest(NamedTuple):
    packed: PackedRequest
    fingerprint: int
    parent: int | None
    """The fingerprint of the request whose callback found it."""


def offers_of(job: str, found: Sequence[FoundRequest]) -> list[Offer]:
    groups: dict[tuple[Any, ...], list[FoundRequest]] = {}
    for each in found:
        packed = each.packed
        same = json.dumps({key: value for key, value in packed.fields.items() if key not in _DIFFERING})
        groups.setdefault((each.parent, packed.callback, packed.depth, packed.priority, same), []).append(each)
    return [_offer(job, members) for members in groups.values()]


def _offer(job: str, members: list[FoundRequest]) -> Offer:
    first = members[0].packed
    common = {part: _common([each.packed.fields.get(part, {}) for each in members]) for part in _DIFFERING}
    fields = {key: value for key, value in first.fields.items() if key not in _DIFFERING}
    fields |= {part: shared for part, shared in common.items() if shared}
    trail = Trail(first.depth, first.priority, members[0].parent, first.callback, fields or None)
    return Offer(job, [_target(each, common) for each in members], trail)


def _common(objects: list[dict[str, Any]]) -> dict[str, Any]:
    first, *others = objects
    return {key: value for key, value in first.items() if all(key in one and one[key] == value for one in others)}


def _target(found: FoundRequest, common: dict[str, dict[str, Any]]) -> Target:
    packed = found.packed
    own = {}
    for part in _DIFFERING:
        if differs := {key: value for key, value in packed.fields.get(part, {}).items() if key not in common[part]}:
            own[part] = differs
    is_usual = packed.url.startswith("http") and found.fingerprint == fingerprint(
        packed.url, packed.method, packed.body
    )
    note = json.dumps(own, separators=(",", ":")) if own or not is_usual else ""
    return Target(packed.url, found.fingerprint, packed.host, packed.method, packed.body, note=note)


def whole_fields(lease: Lease) -> dict[str, Any]:
    """The JSON object of a leased request: the shared part of its trail, with the note of its target."""
    fields = dict(lease.trail.meta or {})
    if lease.target.note and WHOLE not in fields:
        for part, own in json.loads(lease.target.note).items():
            fields[part] = {**fields.get(part, {}), **own}
    return fields
