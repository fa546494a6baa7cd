"""The tokens backend that uses a database which this machine can reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.cli.backends import no_token
from shoal.jobs.deployment import make_folder
from shoal.settings import Settings
from shoal.store.fleet.tokens import Token, TokenScope, add_token, list_tokens, remove_token
from shoal.store.results.columns import iso_time
from shoal.store.store import Store


class LocalTokens:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, scope: str) -> str:
        return add_token(self._store, name, TokenScope(scope))

    def all(self) -> list[Mapping[str, Any]]:
        return [_record(token) for token in list_tokens(self._store)]

    def remove(self, name: str) -> None:
        if not remove_token(self._store, name):
            raise no_token(name)


def open_store(settings: Settings) -> Store:
    """Opens the database with the fleet's tokens and schedules, and creates it if it does not exist."""
    if settings.database_url is None:
        make_folder(settings.home)
    return Store.open(settings.database_url or settings.home / "shoal.db")


def _record(one: Token) -> dict[str, str | None]:
    used = None if one.used_at is None else iso_time(one.used_at)
    made = iso_time(one.created_at)
    return {"id": one.id, "name": one.name, "scope": one.scope.value, "created_at": made, "used_at": used}
