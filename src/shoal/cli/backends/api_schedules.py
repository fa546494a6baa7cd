"""The schedules backend that calls an API."""

from __future__ import annotations

from contextlib import AbstractContextManager

from shoal.cli.backends import Record, no_schedule
from shoal.cli.backends.api_errors import as_shoal_errors
from shoal.cli.remote_job_request import RemoteJobRequest
from shoal.cli.scrapy_flags import ScrapyFlags
from shoal.client import Client


class ApiSchedules:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, cron: str, zone: str, overlap: str, order: RemoteJobRequest, urls: list[str]) -> Record:
        job = {"urls": urls, **order.fields()}
        return dict(self._client.add_schedule(name, cron, job, zone=zone, overlap=overlap))

    def add_scrapy(self, name: str, cron: str, zone: str, overlap: str, flags: ScrapyFlags) -> Record:
        return dict(self._client.add_schedule(name, cron, flags.fields(), zone=zone, overlap=overlap))

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
    return as_shoal_errors(lambda _: no_schedule(name))
