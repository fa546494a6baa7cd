"""Schedules behind an API."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shoal.cli.order import Order
from shoal.cli.reach import Record
from shoal.cli.reach.orders import job_order
from shoal.client import Client
from shoal.errors import ApiError

T = TypeVar("T")


class ApiSchedules:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, cron: str, zone: str, overlap: str, order: Order, urls: list[str]) -> Record:
        job = {"urls": urls, **job_order(order.rules, order.spider, order.options)}
        return dict(self._client.add_schedule(name, cron, job, zone=zone, overlap=overlap))

    def all(self) -> list[Record]:
        return [dict(one) for one in self._client.schedules()]

    def remove(self, name: str) -> str | None:
        found = _if_there(lambda: self._client.schedule(name))
        if found is None:
            return None
        self._client.remove_schedule(found["id"])
        return found["name"]

    def pause(self, name: str, paused: bool) -> Record | None:
        changed = _if_there(lambda: self._client.change_schedule(name, paused=paused))
        return None if changed is None else dict(changed)

    def run(self, name: str) -> str | None:
        begun = _if_there(lambda: self._client.run_schedule(name))
        return None if begun is None else str(begun["runs"][0]["job"])


def _if_there(call: Callable[[], T]) -> T | None:
    try:
        return call()
    except ApiError as error:
        if error.status != 404:
            raise
        return None
