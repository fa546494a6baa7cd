"""`Idempotency-Key`: a repeated or duplicated POST has its effect once, and gets the first response."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from flask import Response, g, request

from shoal.control.async_bridge import bridge
from shoal.control.auth import holder
from shoal.control.problems import RETRY_S, Problem, conflict
from shoal.control.thread_slots import slot
from shoal.jobs.job_id import new_job_id
from shoal.store.fleet.idempotency import IdempotencyClaim, claim, release_claim, store_response, take_over
from shoal.store.store import Store

HEADER = "Idempotency-Key"
WAIT_S = 10.0
_LOOK_EVERY_S = 0.05
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


def once(make: Callable[[], Response], body: bytes | bytearray) -> Response:
    """Returns the response of `make`, or the stored response to the first request with this key. Failures are not
    stored."""
    key = request.headers.get(HEADER)
    if key is None:
        return make()
    if not _KEY.fullmatch(key):
        raise Problem(422, f"{HEADER}: give 1 to 200 printable ASCII characters")
    store = bridge().store
    wanted = IdempotencyClaim(holder().id, key, _request_digest(body), new_job_id(), time.time())
    found = _found(store, wanted)
    if found is None:
        found = _awaited(store, wanted)
    return found if isinstance(found, Response) else _answered(store, found, make)


def claimed_job_id() -> str | None:
    """The id that a job of this request must have, so that it is not created twice; None: any."""
    claimed: str | None = g.get("claimed_job_id")
    return claimed


def _found(store: Store, wanted: IdempotencyClaim) -> Response | IdempotencyClaim | None:
    """The first response, or the claim if it is ours; None: another request has the claim and no response yet."""
    kept = claim(store, wanted)
    if kept is None:
        return wanted
    if kept.claim.request != wanted.request:
        detail = f"{HEADER} {wanted.key} was used for another request: use a new key for a new request"
        raise Problem(422, detail)
    if kept.status is not None:
        return Response(kept.body, kept.status, content_type="application/json")
    return take_over(store, kept.claim, wanted.at)


def _awaited(store: Store, wanted: IdempotencyClaim) -> Response | IdempotencyClaim:
    """Waits for the first response. Raises a Problem if that takes too long, or if too many requests wait already."""
    deadline = time.monotonic() + WAIT_S
    with slot() as may_wait:
        while may_wait and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
            # Claimed again each time: if the first request fails, this one or another with this key becomes the first.
            found = _found(store, replace(wanted, at=time.time()))
            if found is not None:
                return found
    raise conflict(f"the first request with this {HEADER} is still being processed", retry_s=RETRY_S)


def _answered(store: Store, claimed: IdempotencyClaim, make: Callable[[], Response]) -> Response:
    g.claimed_job_id = claimed.job
    try:
        response = make()
    except BaseException:
        # Whatever it was, a repeated call must be able to try again.
        release_claim(store, claimed)
        raise
    store_response(store, claimed, response.status_code, response.get_data(as_text=True))
    return response


def _request_digest(body: bytes | bytearray) -> str:
    digest = sha256(f"{request.method} {request.full_path}\n".encode("utf-8", "surrogatepass"))
    digest.update(body)
    return digest.hexdigest()
