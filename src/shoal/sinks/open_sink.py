"""Opens a sink by its URL."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path

from shoal.errors import MissingExtra
from shoal.model.sink_url import SinkUrl, resolve_sink
from shoal.sinks.destination import Destination
from shoal.store.crawl.sink_state import SinkKey

_PACKAGES = {
    "postgresql": ("psycopg", "fleet"),
    "postgres": ("psycopg", "fleet"),
    "mysql": ("pymysql", "mysql"),
    "mariadb": ("pymysql", "mysql"),
}
"""Scheme -> the package that it needs, and the extra that brings it."""


def open_sink(key: SinkKey, text: str, secrets: Mapping[str, str]) -> Destination:
    """Connects to nothing yet. Raises UsageError."""
    url = resolve_sink(text, secrets)
    package, extra = _PACKAGES.get(url.scheme, ("json", ""))
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(f"{url.scheme}:// sinks need {package}", extra)
    return _opened(key, url)


def _opened(key: SinkKey, url: SinkUrl) -> Destination:
    # Imported one by one: each needs other packages.
    if url.scheme == "sqlite":
        from shoal.sinks.tables.sqlite import SqliteSink

        return SqliteSink(Path(url.address.removeprefix("sqlite:///")), url.options)
    if url.scheme in ("mysql", "mariadb"):
        from shoal.sinks.tables.mysql import MysqlSink

        return MysqlSink(key, url.address, url.options)
    from shoal.sinks.tables.postgres import PostgresSink

    return PostgresSink(key, url.address, url.options)
