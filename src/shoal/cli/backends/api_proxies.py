"""The proxies backend that calls an API; it needs an admin token."""

from __future__ import annotations

from typing import cast

from shoal.cli.backends import Record, no_pool
from shoal.cli.backends.api_errors import as_shoal_errors
from shoal.client import Client
from shoal.errors import UsageError


class ApiProxies:
    def __init__(self, client: Client) -> None:
        self._client = client

    def pools(self) -> list[Record]:
        return [cast(Record, pool) for pool in self._client.proxy_pools()]

    def pool(self, name: str) -> Record:
        with as_shoal_errors(lambda _: no_pool(name)):
            return cast(Record, self._client.proxy_pool(name))

    def add(self, name: str, text: str) -> None:
        self._client.set_proxy_pool(name, text)

    def remove(self, name: str) -> None:
        with as_shoal_errors(lambda _: no_pool(name)):
            self._client.remove_proxy_pool(name)

    def text(self, name: str) -> str:
        raise UsageError(
            f"an API does not tell the list of {name}: test it on a machine of the fleet, or give its file"
        )
