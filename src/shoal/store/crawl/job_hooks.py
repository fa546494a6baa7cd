"""The hooks of a job's spider: who runs them, whether they have run, and what they gave.

Each runs once: a process claims a hook before it runs it, and stores its end. If the process dies in between, the claim
expires and another process runs the hook again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, or_, select, update

from shoal.model import ENDED
from shoal.store.crawl.offer_log import pack_offers, write_offers
from shoal.store.database.storable_text import json_text, storable
from shoal.store.store import Store
from shoal.store.tables import hooks, jobs, waiting

ON_START = "on_start"
ON_FINISH = "on_finish"


class HookState(StrEnum):
    WANTED = "wanted"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Claim(StrEnum):
    MINE = "mine"
    BUSY = "busy"
    OVER = "over"


def claim_hook(store: Store, job: str, hook: str, now: float, until: float, alone: bool) -> Claim:
    """`alone`: no other process works on this job, so an earlier claim is of a process that died."""
    with store.write() as db:
        # Locked: of two processes that claim at once, one finds the other's claim.
        state = db.execute(select(jobs.c.state).where(jobs.c.id == job).with_for_update()).scalar_one()
        row = db.execute(select(hooks.c.state, hooks.c.claimed_until).where(_is(job, hook))).one_or_none()
        if row is not None and row.state == HookState.DONE:
            return Claim.OVER
        if row is not None and row.state == HookState.RUNNING and row.claimed_until > now and not alone:
            return Claim.BUSY
        if row is not None and row.state == HookState.FAILED and (hook == ON_FINISH or state in ENDED):
            # It ended the job. If the job is opened again, on_start gets another chance.
            return Claim.OVER if hook == ON_FINISH else Claim.BUSY
        _set(db, job, hook, HookState.RUNNING, until)
    return Claim.MINE


def extend_claim(store: Store, job: str, hook: str, until: float) -> None:
    with store.write() as db:
        db.execute(update(hooks).where(_is(job, hook)).values(claimed_until=until))


def end_on_start(store: Store, job: str, shared: Mapping[str, Any], offers: Sequence[str]) -> None:
    """Stores the mark, what the callbacks share, and the requests to offer, all at once."""
    with store.write() as db:
        _set(db, job, ON_START, HookState.DONE, None, json_text({"shared": dict(shared), "offers": list(offers)}))
        if offers:
            db.execute(insert(waiting), [{"job": job, "offer": offer} for offer in offers])
            if db.execute(select(jobs.c.fleet).where(jobs.c.id == job)).scalar_one():
                write_offers(db, job, pack_offers(offers))


def end_hook(store: Store, job: str, hook: str, failure: str | None) -> None:
    with store.write() as db:
        state = HookState.DONE if failure is None else HookState.FAILED
        _set(db, job, hook, state, None, None if failure is None else storable(failure))


def want_on_finish(store: Store, job: str) -> None:
    """Notes that the job's spider has `on_finish`: only a process that has loaded the spider knows it."""
    with store.write() as db:
        db.execute(select(jobs.c.id).where(jobs.c.id == job).with_for_update())
        if db.execute(select(hooks.c.job).where(_is(job, ON_FINISH))).first() is None:
            _set(db, job, ON_FINISH, HookState.WANTED, None)


def jobs_to_finish(store: Store, now: float) -> list[str]:
    """The fleet's ended jobs whose `on_finish` has not run yet."""
    due = or_(hooks.c.state == HookState.WANTED, and_(hooks.c.state == HookState.RUNNING, hooks.c.claimed_until <= now))
    ended = jobs.c.fleet & jobs.c.state.in_(ENDED)
    wanted = select(hooks.c.job).join(jobs, jobs.c.id == hooks.c.job).where(hooks.c.hook == ON_FINISH, due, ended)
    with store.read() as db:
        return list(db.execute(wanted).scalars())


def on_finish_waits(store: Store, job: str) -> bool:
    """Whether `on_finish` is still to run, or was running when its process died."""
    with store.read() as db:
        state = db.execute(select(hooks.c.state).where(_is(job, ON_FINISH))).scalar_one_or_none()
    return state in (HookState.WANTED, HookState.RUNNING)


def shared_of(store: Store, job: str) -> dict[str, Any]:
    """What `on_start` gave to the callbacks."""
    found: dict[str, Any] = _result_of_on_start(store, job).get("shared", {})
    return found


def start_offers(store: Store, job: str) -> list[str]:
    """The requests of `on_start`, as it offered them."""
    found: list[str] = _result_of_on_start(store, job).get("offers", [])
    return found


def _result_of_on_start(store: Store, job: str) -> dict[str, Any]:
    done = select(hooks.c.result).where(_is(job, ON_START), hooks.c.state == HookState.DONE)
    with store.read() as db:
        result = db.execute(done).scalar_one_or_none()
    return json.loads(result) if result else {}


def on_finish_failure(store: Store, job: str) -> str | None:
    with store.read() as db:
        failed = select(hooks.c.result).where(_is(job, ON_FINISH), hooks.c.state == HookState.FAILED)
        return db.execute(failed).scalar_one_or_none()


def _is(job: str, hook: str) -> Any:
    return (hooks.c.job == job) & (hooks.c.hook == hook)


def _set(db: Connection, job: str, hook: str, state: HookState, until: float | None, result: str | None = None) -> None:
    db.execute(delete(hooks).where(_is(job, hook)))
    db.execute(insert(hooks).values(job=job, hook=hook, state=state.value, claimed_until=until, result=result))
