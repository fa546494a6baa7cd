"""Opens a sink by its URL."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from shoal.errors import MissingExtra
from shoal.model.sink_url import check_fleet_sink, resolve_sink
from shoal.sinks.destination import Destination
from shoal.store.crawl.sink_state import SinkKey

_PACKAGES = {
    **dict.fromkeys(("postgresql", "postgres"), ("psycopg", "fleet")),
    **dict.fromkeys(("mysql", "mariadb"), ("pymysql", "mysql")),
    **dict.fromkeys(("redis", "rediss"), ("redis", "fleet")),
}
"""Scheme -> the package that it needs, and the extra that brings it."""


def open_sink(key: SinkKey, text: str, secrets: Mapping[str, str], allowed: Sequence[str] | None = None) -> Destination:
    """Connects to nothing yet. `allowed`: for a fleet, the modules that a class may be in. Raises UsageError."""
    url = resolve_sink(text, secrets)
    if allowed is not None:
        # Only now is it known what a secret holds, and the modules may have changed since the job was submitted.
        check_fleet_sink(url, allowed)
    package, extra = _PACKAGES.get(url.scheme, ("json", ""))
    if importlib.util.find_spec(package) is None:
        raise MissingExtra(f"{url.scheme}:// sinks need {package}", extra)
    # Imported one by one: each needs other packages.
    match url.scheme:
        case "class":
            from shoal.sinks.user_class import UserSink

            return UserSink(url.address, url.options)
        case "sqlite":
            from shoal.sinks.tables.sqlite import SqliteSink

            return SqliteSink(Path(url.address.removeprefix("sqlite:///")), url.options)
        case "mysql" | "mariadb":
            from shoal.sinks.tables.mysql import MysqlSink

            return MysqlSink(key, url.address, url.options)
        case "redis" | "rediss":
            from shoal.sinks.redis_queue import RedisSink

            return RedisSink(url.address, url.options)
        case "http" | "https":
            from shoal.sinks.http_batches import HttpSink

            return HttpSink(key, url.address, url.options)
        case "postgresql" | "postgres":
            from shoal.sinks.tables.postgres import PostgresSink

            return PostgresSink(key, url.address, url.options)
    from shoal.sinks.parts import PartsSink

    return PartsSink(key.job, url.address, url.options)
