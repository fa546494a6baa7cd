"""The tokens backend that calls an API; it needs an admin token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.cli.backends import no_token
from shoal.cli.backends.api_errors import as_shoal_errors
from shoal.client import Client


class ApiTokens:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, scope: str) -> str:
        return self._client.add_token(name, scope)

    def all(self) -> list[Mapping[str, Any]]:
        return list(self._client.tokens())

    def remove(self, name: str) -> None:
        with as_shoal_errors(lambda _: no_token(name)):
            self._client.remove_token(name)
