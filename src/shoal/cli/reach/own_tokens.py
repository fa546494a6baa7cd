"""Tokens in a store that this machine reaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.cli.reach import no_token
from shoal.jobs.place import make_folder
from shoal.settings import Settings
from shoal.store.columns import iso_time
from shoal.store.store import Store
from shoal.store.tokens import Scope, Token, add_token, list_tokens, remove_token


class OwnTokens:
    def __init__(self, store: Store) -> None:
        self._store = store

    def add(self, name: str, scope: str) -> str:
        return add_token(self._store, name, Scope(scope))

    def all(self) -> list[Mapping[str, Any]]:
        return [_record(token) for token in list_tokens(self._store)]

    def remove(self, name: str) -> None:
        if not remove_token(self._store, name):
            raise no_token(name)


def open_store(settings: Settings) -> Store:
    """Where the tokens and schedules of the fleet are; made if it is not there."""
    if settings.database_url is None:
        make_folder(settings.home)
    return Store.open(settings.database_url or settings.home / "shoal.db")


def _record(one: Token) -> dict[str, str | None]:
    used = None if one.used_at is None else iso_time(one.used_at)
    made = iso_time(one.created_at)
    return {"id": one.id, "name": one.name, "scope": one.scope.value, "created_at": made, "used_at": used}
