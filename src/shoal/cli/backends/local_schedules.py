"""The schedules backend that uses a database which this machine can reach."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Self

from shoal.cli.backends import Record, no_schedule
from shoal.cli.backends.local_tokens import open_store
from shoal.cli.remote_job_request import RemoteJobRequest
from shoal.cli.scrapy_flags import ScrapyFlags
from shoal.cli.session import Session
from shoal.errors import Unavailable
from shoal.fleet.fleet import Fleet
from shoal.fleet.schedule_view import schedule_record
from shoal.fleet.schedules import Template, amend_schedule, make_schedule, run_now
from shoal.store.fleet.schedules import Overlap, Schedule, find_schedule, list_schedules, remove_schedule


class LocalSchedules:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._store = open_store(session.settings)

    def add(self, name: str, cron: str, zone: str, overlap: str, order: RemoteJobRequest, urls: list[str]) -> Record:
        template = Template(urls, order.rules, order.spider, order.options)
        settings = self._session.settings
        return self._record(make_schedule(self._store, settings, name, cron, zone, Overlap(overlap), template))

    def add_scrapy(self, name: str, cron: str, zone: str, overlap: str, flags: ScrapyFlags) -> Record:
        template = Template(options=flags.options, scrapy={"spider": flags.spider, **asdict(flags.run)})
        settings = self._session.settings
        return self._record(make_schedule(self._store, settings, name, cron, zone, Overlap(overlap), template))

    def all(self) -> list[Record]:
        return [self._record(one) for one in list_schedules(self._store)]

    def remove(self, name: str) -> str:
        found = self._found(name)
        remove_schedule(self._store, found.id)
        return found.name

    def pause(self, name: str, paused: bool) -> Record:
        found = self._found(name)
        amend_schedule(self._store, found.id, {"paused": paused})
        return self._record(self._found(found.id))

    def run(self, name: str) -> str:
        fleet = Fleet(self._session.settings, self._store)
        try:
            begun = run_now(self._store, self._found(name))
            with suppress(Unavailable):
                # Tend also finds the job without being woken.
                self._session.run(fleet.ring())
        finally:
            self._session.run(fleet.close())
        return begun.job

    def _found(self, name: str) -> Schedule:
        found = find_schedule(self._store, name)
        if found is None:
            raise no_schedule(name)
        return found

    def _record(self, one: Schedule) -> Record:
        return schedule_record(self._store, one)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.close()
