"""The proxies backend that uses a database which this machine can reach."""

from __future__ import annotations

from shoal.cli.backends import Record, no_pool
from shoal.engine.proxies.load_pool import ProxySettings, named_list
from shoal.jobs.proxy_view import view_pool, view_pools
from shoal.settings import Settings
from shoal.store.proxies.pools import remove_pool, save_proxy_list
from shoal.store.store import Store


class LocalProxies:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def pools(self) -> list[Record]:
        return view_pools(self._store, self._settings.proxies)

    def pool(self, name: str) -> Record:
        return view_pool(self._store, self._settings.proxies, name)

    def add(self, name: str, text: str) -> None:
        save_proxy_list(self._store, name, text)

    def remove(self, name: str) -> None:
        if not remove_pool(self._store, name):
            raise no_pool(name)

    def text(self, name: str) -> str:
        return named_list(name, self._store, ProxySettings(self._settings.proxies, self._settings.secrets))
