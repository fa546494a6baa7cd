"""Tokens behind an API, for whoever holds an admin's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.client import Client
from shoal.errors import ApiError


class ApiTokens:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(self, name: str, scope: str) -> str:
        return self._client.add_token(name, scope)

    def all(self) -> list[Mapping[str, Any]]:
        return list(self._client.tokens())

    def remove(self, name: str) -> bool:
        try:
            self._client.remove_token(name)
        except ApiError as error:
            if error.status != 404:
                raise
            return False
        return True
