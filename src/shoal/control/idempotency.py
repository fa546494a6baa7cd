"""`Idempotency-Key`: a POST that is repeated, or sent twice at once, has its effect once, and gets the first answer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

from flask import Response, g, request

from shoal.control.auth import holder
from shoal.control.bridge import bridge
from shoal.control.problems import RETRY_S, Problem, conflict
from shoal.control.slots import slot
from shoal.jobs.job_id import new_job_id
from shoal.store.answers import Claim, answer, claim, give_up, take_over
from shoal.store.store import Store

HEADER = "Idempotency-Key"
WAIT_S = 10.0
_LOOK_EVERY_S = 0.05
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


def once(make: Callable[[], Response], body: bytes | bytearray) -> Response:
    """What `make` answers, or what it answered to the first request with this key. Failures are not kept."""
    key = request.headers.get(HEADER)
    if key is None:
        return make()
    if not _KEY.fullmatch(key):
        raise Problem(422, f"{HEADER}: give 1 to 200 printable ASCII characters")
    store = bridge().store
    wanted = Claim(holder().id, key, _asked(body), new_job_id(), time.time())
    found = _found(store, wanted)
    if found is None:
        found = _awaited(store, wanted)
    return found if isinstance(found, Response) else _answered(store, found, make)


def claimed_job_id() -> str | None:
    """The id that a job made by this request must have, so that it is not made twice; None: any."""
    claimed: str | None = g.get("claimed_job_id")
    return claimed


def _found(store: Store, wanted: Claim) -> Response | Claim | None:
    """The first answer, or the claim if it is ours; None: it is another's, who has not answered yet."""
    kept = claim(store, wanted)
    if kept is None:
        return wanted
    if kept.claim.request != wanted.request:
        detail = f"{HEADER} {wanted.key} was given with another request: a new one needs a key of its own"
        raise Problem(422, detail)
    if kept.status is not None:
        return Response(kept.body, kept.status, content_type="application/json")
    return take_over(store, kept.claim, wanted.at)


def _awaited(store: Store, wanted: Claim) -> Response | Claim:
    """Raises a Problem if that takes too long, or if too many wait for something already."""
    deadline = time.monotonic() + WAIT_S
    with slot() as may_wait:
        while may_wait and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_S)
            # Looked at each time anew: the first one may fail, and this, or another with this key, become the first.
            found = _found(store, replace(wanted, at=time.time()))
            if found is not None:
                return found
    raise conflict(f"the first request with this {HEADER} is not answered yet", retry_s=RETRY_S)


def _answered(store: Store, claimed: Claim, make: Callable[[], Response]) -> Response:
    g.claimed_job_id = claimed.job
    try:
        response = make()
    except BaseException:
        give_up(store, claimed)
        raise
    answer(store, claimed, response.status_code, response.get_data(as_text=True))
    return response


def _asked(body: bytes | bytearray) -> str:
    asked = sha256(f"{request.method} {request.full_path}\n".encode("utf-8", "surrogatepass"))
    asked.update(body)
    return asked.hexdigest()
