"""How requests are written down: one line per target, one JSON text per trail.

The links of a page share a trail, so a queue row holds one trail and many lines. Fingerprints of plain GETs are
computed again from the URL, which is cheaper than keeping them.
"""

from __future__ import annotations

import base64
import json
from functools import lru_cache
from typing import Any

from shoal.model import Offer, RequestOptions, Target, Trail
from shoal.urls import fingerprint


def line_of(target: Target) -> str:
    if target.is_plain:
        return target.url
    body = base64.b64encode(target.body).decode()
    noted = [target.note, target.fingerprint] if target.note else []
    return json.dumps([target.method, target.url, body, target.content_type, *noted], separators=(",", ":"))


def target_of(line: str, host: str) -> Target:
    if line.startswith("http"):
        return Target(line, fingerprint(line), host)
    method, url, encoded, content_type, *noted = json.loads(line)
    body = base64.b64decode(encoded)
    note, given = noted or ("", fingerprint(url, method, body))
    return Target(url, given, host, method, body, content_type, note)


def trail_text(trail: Trail) -> str:
    fields: list[Any] = [trail.depth, trail.priority, trail.parent, trail.callback, trail.meta, trail.chain]
    if (more := rare_fields(trail)) is not None:
        fields.append(more)
    return json.dumps(fields, separators=(",", ":"))


def rare_fields(trail: Trail) -> dict[str, Any] | None:
    """What few requests have, for JSON: their options, and the row of the list that they came from."""
    if trail.options is None and trail.input is None:
        return None
    options = {} if trail.options is None else {"options": trail.options.to_fields()}
    return options if trail.input is None else {**options, "input": dict(trail.input)}


def with_rare_fields(trail: Trail, fields: Any) -> Trail:
    """The reverse. Raises ValueError for anything else."""
    if not isinstance(fields, dict):
        raise ValueError("a damaged record of a request: its last field must be an object")
    options = RequestOptions.of_fields(fields["options"]) if "options" in fields else None
    return trail._replace(options=options, input=fields.get("input"))


def trail_of(text: str) -> Trail:
    # The chain is last, unless there are rare fields. What a spider gave along, before it, is its own to change, and
    # may be big.
    shared = text.endswith("]]") and text.rpartition(",[")[0].endswith(",null")
    return _shared_trail_of(text) if shared else _trail_of(text)


def _trail_of(text: str) -> Trail:
    depth, priority, parent, callback, meta, chain, *more = json.loads(text)
    trail = Trail(depth, priority, parent, callback, meta, tuple(chain))
    return with_rare_fields(trail, more[0]) if more else trail


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
