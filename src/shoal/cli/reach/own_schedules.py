"""Schedules in a store that this machine reaches."""

from __future__ import annotations

import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from shoal.cli.order import Order
from shoal.cli.reach import Record
from shoal.cli.reach.own_tokens import open_store
from shoal.cli.session import Session
from shoal.errors import Unavailable
from shoal.fleet.cron import Cron
from shoal.fleet.place import Fleet
from shoal.fleet.scheduled import schedule_record
from shoal.fleet.schedules import Template, make_schedule, run_now
from shoal.store.schedules import (
    Overlap,
    Schedule,
    change_schedule,
    find_schedule,
    list_schedules,
    remove_schedule,
)


class OwnSchedules:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._store = open_store(session.settings)

    def add(self, name: str, cron: str, zone: str, overlap: str, order: Order, urls: list[str]) -> Record:
        template = Template(urls, order.rules, order.spider, order.options)
        settings = self._session.settings
        return self._record(make_schedule(self._store, settings, name, cron, zone, Overlap(overlap), template))

    def all(self) -> list[Record]:
        return [self._record(one) for one in list_schedules(self._store)]

    def remove(self, name: str) -> str | None:
        found = find_schedule(self._store, name)
        if found is None:
            return None
        remove_schedule(self._store, found.id)
        return found.name

    def pause(self, name: str, paused: bool) -> Record | None:
        found = find_schedule(self._store, name)
        if found is None:
            return None
        now = time.time()

        def change(one: Schedule) -> dict[str, Any]:
            return {"paused": paused, "due_at": Cron(one.cron, one.zone).after(now)}

        change_schedule(self._store, found.id, change)
        changed = find_schedule(self._store, found.id)
        return None if changed is None else self._record(changed)

    def run(self, name: str) -> str | None:
        fleet = Fleet(self._session.settings, self._store)
        try:
            found = find_schedule(self._store, name)
            if found is None:
                return None
            begun = run_now(self._store, found)
            with suppress(Unavailable):
                # Tend finds it without being rung.
                self._session.run(fleet.ring())
        finally:
            self._session.run(fleet.close())
        return begun.job

    def _record(self, one: Schedule) -> Record:
        return schedule_record(self._store, one)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()
