"""Schedules behind an API."""

from __future__ import annotations

from contextlib import AbstractContextManager

from shoal.cli.order import Order
from shoal.cli.reach import Record, no_schedule
from shoal.cli.reach.answers import translated
from shoal.cli.reach.job_fields import job_fields
from shoal.client import Client


class ApiSchedules:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, cron: str, zone: str, overlap: str, order: Order, urls: list[str]) -> Record:
        job = {"urls": urls, **job_fields(order.rules, order.spider, order.options)}
        return dict(self._client.add_schedule(name, cron, job, zone=zone, overlap=overlap))

    def all(self) -> list[Record]:
        return [dict(one) for one in self._client.schedules()]

    def remove(self, name: str) -> str:
        with _named(name):
            found = self._client.schedule(name)
            self._client.remove_schedule(found["id"])
        return found["name"]

    def pause(self, name: str, paused: bool) -> Record:
        with _named(name):
            return dict(self._client.change_schedule(name, paused=paused))

    def run(self, name: str) -> str:
        with _named(name):
            return str(self._client.run_schedule(name)["runs"][0]["job"])


def _named(name: str) -> AbstractContextManager[None]:
    return translated(lambda _: no_schedule(name))
