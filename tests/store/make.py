"""Makes records with default values for what a test does not care about."""

from __future__ import annotations

import json
from typing import Any

from shoal.model import DeadLetter, Drop, Input, ItemRecord, ItemType, JobSpec, PageRecord, RedirectRecord, Target
from shoal.model.field_type import type_from_json
from shoal.store.database.storable_text import json_text
from shoal.store.jobs import create_job
from shoal.store.store import Store

JOB = "j1"


def url(n: int) -> str:
    return f"https://site.test/{n}"


def page(n: int, token: int = 1, **values: Any) -> PageRecord:
    defaults: dict[str, Any] = {
        "url": url(n),
        "host": "site.test",
        "status": 200,
        "depth": 1,
        "parent": None,
        "content_type": "text/html",
        "bytes": 1000,
        "digest": "d" * 32,
        "attempts": 1,
        "duration_ms": 20,
        "fetched_at": 1_700_000_000.0 + n,
    }
    return PageRecord(job=JOB, fingerprint=n, token=token, **{**defaults, **values})


def item_type(name: str, fields: dict[str, Any]) -> ItemType:
    """Takes each field's type as JSON."""
    return ItemType(name, {field: type_from_json(type) for field, type in fields.items()})


def item_record(type: str, data: dict[str, Any], key: str | None = None) -> ItemRecord:
    return ItemRecord(type, json_text(data), key)


def redirect(n: int, to: int | None, token: int = 1, reason: str | None = None) -> RedirectRecord:
    target = url(to) if to is not None else "mailto:someone"
    return RedirectRecord(JOB, n, token, url(n), "site.test", 301, 0, None, target, to, reason, 1_700_000_000.0)


def dead_letter(n: int, token: int = 1, reason: str = "timeout", status: int | None = None) -> DeadLetter:
    return DeadLetter(
        JOB,
        n,
        token,
        url(n),
        "site.test",
        reason,
        status,
        "no answer",
        1,
        None,
        5,
        1_700_000_000.0 + n,
        json.dumps({"n": n}),
    )


def drop(n: int, token: int = 1, reason: str = "robots") -> Drop:
    return Drop(JOB, n, token, url(n), "site.test", reason, "Disallow: /", 1, None, 1_700_000_000.0 + n)


def given(line: int, n: int, duplicate_of: int | None = None) -> Input:
    return Input(line, f"site.test/{n}", Target(url(n), n, "site.test"), duplicate_of=duplicate_of)


def job_with(
    store: Store,
    *inputs: Input,
    id: str = JOB,
    name: str = "test",
    created_at: float = 1_700_000_000.0,
    fleet: bool = False,
    sinks: tuple[str, ...] = (),
) -> None:
    create_job(store, id, lambda: JobSpec(name=name, sinks=sinks), inputs, created_at, fleet)
