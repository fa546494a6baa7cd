"""How requests are sent to Redis and stored there: small, and never as code.

A line names a request within its host: `/path` for https, `:/path` for http, anything else as frontier/serialize.py
writes it. A trail is a msgpack list without the defaults at its end; rare fields come last, as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgpack

from shoal.frontier import serialize
from shoal.frontier.contract import Ended
from shoal.model import Completion, Landing, Lease, Target, Trail
from shoal.urls import fingerprint

ASSETS = "a"
_DEFAULTS = [0, 0, None, "", ""]
_KINDS = (int, int, int | None, str, str)


def packed(args: dict[str, Any]) -> bytes:
    # Lua's msgpack is older than the split between texts and bytes.
    data: bytes = msgpack.packb(args, use_bin_type=False)
    return data


def line_of(target: Target) -> str:
    url, host = target.url, target.host
    if target.is_plain:
        if url.startswith(f"https://{host}/"):
            return url[len(host) + 8 :]
        if url.startswith(f"http://{host}/"):
            return f":{url[len(host) + 7 :]}"
    return serialize.line_of(target)


def target_of(line: str, host: str) -> Target:
    """Raises ValueError if the text is not a line."""
    if line.startswith("/"):
        url = f"https://{host}{line}"
    elif line.startswith(":/"):
        url = f"http://{host}{line[1:]}"
    else:
        return serialize.target_of(line, host)
    return Target(url, fingerprint(url), host)


def band_of(trail: Trail) -> str:
    """Assets come first. Band 0 is served before 1, and 1 before 2. `r` is for requests that need a browser, `p` for
    those that do not, whatever the job says."""
    if trail.is_asset:
        return ASSETS
    kind = {True: "r", False: "p", None: ""}[trail.needs_browser]
    return f"{kind}{1 - (trail.priority > 0) + (trail.priority < 0)}"


def trail_bytes(trail: Trail) -> bytes:
    # As JSON, because msgpack's integers are limited to 64 bits.
    meta = "" if trail.meta is None else json.dumps(trail.meta, separators=(",", ":"))
    fields: list[Any] = [trail.depth, trail.priority, trail.parent, trail.callback, meta, *trail.chain]
    if (more := serialize.rare_fields(trail)) is not None:
        fields.append(json.dumps(more, separators=(",", ":")))
    while fields and len(fields) <= len(_DEFAULTS) and fields[-1] == _DEFAULTS[len(fields) - 1]:
        fields.pop()
    data: bytes = msgpack.packb(fields)
    return data


def trail_of(data: bytes) -> Trail:
    """Raises ValueError if the data is not a trail."""
    fields = msgpack.unpackb(data)
    if not isinstance(fields, list):
        raise ValueError("a trail must be a list")
    known, chain = fields[: len(_DEFAULTS)], fields[len(_DEFAULTS) :]
    more = chain.pop() if chain and isinstance(chain[-1], str) else None
    known += _DEFAULTS[len(known) :]
    fits = [isinstance(field, kind) for field, kind in zip(known, _KINDS, strict=True)]
    if not all(fits) or not all(isinstance(each, int) for each in chain):
        raise ValueError("a damaged record of a request: a field has the wrong type")
    depth, priority, parent, callback, meta = known
    trail = Trail(depth, priority, parent, callback, json.loads(meta) if meta else None, tuple(chain))
    return trail if more is None else serialize.with_rare_fields(trail, json.loads(more))


def lease_of(token: bytes, data: bytes, now: float) -> Lease:
    fields: Sequence[Any] = msgpack.unpackb(data, raw=True)
    job, _, host, band, start_at, gap_s, slot, _, attempt, crashes, trail, line, readable, edition, _ = fields
    request = _request(trail, line, host.decode()) if readable else None
    target, way = request or (_unreadable(line, host.decode()), Trail())
    return Lease(
        token=int(token),
        job=job.decode(),
        target=target,
        trail=way,
        attempt=attempt,
        crashes=crashes,
        wait_s=max(0.0, start_at - now),
        gap_s=float(gap_s),
        unreachable=not slot,
        edition=edition,
        malformed=request is None,
        needs_browser=band.startswith(b"r"),
    )


def requests_in(elements: Sequence[bytes], host: str) -> Iterator[tuple[Target, Trail]]:
    """The readable requests among the elements of a queue (queue.lua)."""
    for element in elements:
        try:
            trail, lines = trail_and_lines(element)
        except ValueError:
            continue
        yield from filter(None, (_request(trail, line, host) for line in lines))


def trail_and_lines(element: bytes) -> tuple[bytes, Sequence[bytes]]:
    """Raises ValueError if it is not an element of a queue."""
    fields = msgpack.unpackb(element, raw=True)
    # An element that was leased before begins with two counts and its band.
    counts = 3 if isinstance(fields, list) and fields and isinstance(fields[0], int) else 0
    if (
        not isinstance(fields, list)
        or not fields[counts:]
        or not all(isinstance(one, bytes) for one in fields[counts:])
    ):
        raise ValueError("a damaged element of a queue: it must be a trail and lines")
    return fields[counts], fields[counts + 1 :]


def _request(trail: bytes, line: bytes, host: str) -> tuple[Target, Trail] | None:
    try:
        return target_of(line.decode(), host), trail_of(trail)
    except ValueError:
        return None


def _unreadable(line: bytes, host: str) -> Target:
    """A stand-in for an unreadable request, so that it can be stored and counted like any other."""
    text = line.decode("ascii", "backslashreplace")
    return Target(text, fingerprint(text), host)


def landing_fields(landing: Landing) -> dict[str, Any]:
    fields = {
        "token": str(landing.token),
        "latency_s": landing.latency_s,
        "answered": landing.answered,
        "status": landing.status,
        "failure": landing.failure,
        "retry_after_s": landing.retry_after_s,
        "late_s": landing.late_s or None,
        "charged": landing.charged or None,
        "address": landing.address or None,
        "domain": landing.domain or None,
        "network_s": landing.network_s,
    }
    return {name: value for name, value in fields.items() if value is not None}


def ended_fields(ended: Ended) -> list[Any]:
    return [str(ended.fingerprint), ended.host, ended.outcome.value, ended.bytes, ended.reason, ended.is_asset]


def completion_fields(completion: Completion) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "token": str(completion.token),
        "outcome": completion.outcome.value,
        "reason": completion.reason,
        "delay_s": completion.delay_s,
        "counted": completion.counted,
        "started": completion.started,
        "bytes": completion.bytes,
    }
    if completion.cost:
        fields["cost"] = completion.cost
    if completion.needs_browser:
        fields["needs_browser"] = True
    if completion.trail is not None:
        fields |= {"trail": trail_bytes(completion.trail), "band": band_of(completion.trail)}
    return fields
