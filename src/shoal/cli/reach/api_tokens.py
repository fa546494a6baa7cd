"""Tokens behind an API, for whoever holds an admin's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.cli.reach import no_token
from shoal.cli.reach.answers import translated
from shoal.client import Client


class ApiTokens:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, scope: str) -> str:
        return self._client.add_token(name, scope)

    def all(self) -> list[Mapping[str, Any]]:
        return list(self._client.tokens())

    def remove(self, name: str) -> None:
        with translated(lambda _: no_token(name)):
            self._client.remove_token(name)
