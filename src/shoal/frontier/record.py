"""How requests are written down: one line per target, one JSON text per trail.

The links of a page share a trail, so a queue row holds one trail and many lines. Fingerprints of plain GETs are
computed again from the URL, which is cheaper than keeping them.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache

from shoal.model import Offer, Target, Trail
from shoal.urls import fingerprint


def line_of(target: Target) -> str:
    if target.is_plain:
        return target.url
    body = base64.b64encode(target.body).decode()
    return json.dumps([target.method, target.url, body, target.content_type])


def target_of(line: str, host: str) -> Target:
    if line.startswith("http"):
        return Target(line, fingerprint(line), host)
    method, url, encoded, content_type = json.loads(line)
    body = base64.b64decode(encoded)
    return Target(url, fingerprint(url, method, body), host, method, body, content_type)


def trail_text(trail: Trail) -> str:
    return json.dumps(
        [trail.depth, trail.priority, trail.parent, trail.callback, trail.meta, trail.chain],
        separators=(",", ":"),
    )


def trail_of(text: str) -> Trail:
    # The chain is last. What a spider gave along, before it, is its own to change, and may be big.
    return _shared_trail_of(text) if text.rpartition(",[")[0].endswith(",null") else _trail_of(text)


def _trail_of(text: str) -> Trail:
    depth, priority, parent, callback, meta, chain = json.loads(text)
    return Trail(depth, priority, parent, callback, meta, tuple(chain))


@lru_cache(256)
def _shared_trail_of(text: str) -> Trail:
    """The links of a page are leased together, as a rule, and have one trail."""
    return _trail_of(text)


def request_text(target: Target, trail: Trail) -> str:
    """A whole request in one text, as dead letters keep it."""
    return json.dumps([line_of(target), target.host, trail_text(trail)])


def request_of(text: str) -> tuple[Target, Trail]:
    line, host, trail = json.loads(text)
    return target_of(line, host), trail_of(trail)


def offer_text(offer: Offer) -> str:
    """An offer in one text, as it waits where the frontier has no room for it."""
    return json.dumps([trail_text(offer.trail), [[line_of(target), target.host] for target in offer.targets]])


def offer_of(job: str, text: str) -> Offer:
    trail, targets = json.loads(text)
    return Offer(job, [target_of(line, host) for line, host in targets], trail_of(trail))
