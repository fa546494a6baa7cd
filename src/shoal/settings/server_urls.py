"""URLs of Redis, broker and database: which schemes and parameters they may have, and how they look without secrets."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

from shoal.errors import UsageError

_REDIS = ("redis", "rediss")
_POSTGRES = ("postgresql", "postgres")
_FILES = ("unix", "redis+socket", "sqlite")
"""Schemes that name a path instead of a host."""
SERVERS: dict[str, tuple[tuple[str, ...], str]] = {
    "redis_url": ((*_REDIS, "unix"), "redis://:password@host:6379/0, rediss:// likewise, or unix:///path"),
    "broker_url": (
        (*_REDIS, "redis+socket", "sentinel", "amqp", "amqps"),
        "redis://:password@host:6379/1, rediss://, sentinel:// or amqp:// likewise, or redis+socket:///path",
    ),
    "database_url": ((*_POSTGRES, "sqlite"), "postgresql://user:password@host:5432/name, or sqlite:///path"),
}
"""The schemes of each URL, and an example."""
_TLS = (
    *("ssl_ca_certs", "ssl_ca_data", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname"),
    *("ssl_ciphers", "ssl_exclude_verify_flags", "ssl_include_verify_flags", "ssl_keyfile", "ssl_min_version"),
    "ssl_password",
)
_SOCKET = (
    *("client_name", "db", "health_check_interval", "legacy_responses", "max_connections", "password", "protocol"),
    *("retry_on_timeout", "socket_connect_timeout", "socket_read_size", "socket_timeout", "timeout", "username"),
)
_TCP = (*_SOCKET, "socket_keepalive")
_LIBPQ = (
    *("application_name", "channel_binding", "client_encoding", "connect_timeout", "dbname"),
    *("fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "host", "hostaddr", "keepalives"),
    *("keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts"),
    *("max_protocol_version", "min_protocol_version", "oauth_client_id", "oauth_client_secret", "oauth_issuer"),
    *("oauth_scope", "options", "passfile", "password", "port", "replication", "require_auth", "requirepeer"),
    *("scram_client_key", "scram_server_key", "service", "ssl_max_protocol_version", "ssl_min_protocol_version"),
    *("sslcert", "sslcertmode", "sslcompression", "sslcrl", "sslcrldir", "sslkey", "sslkeylogfile", "sslmode"),
    *("sslnegotiation", "sslpassword", "sslrootcert", "sslsni", "target_session_attrs", "tcp_user_timeout", "user"),
)
PARAMETERS: dict[str, dict[str, tuple[str, ...]]] = {
    "redis_url": {"unix": _SOCKET, "redis": _TCP, "rediss": (*_TCP, *_TLS)},
    "broker_url": dict.fromkeys(SERVERS["broker_url"][0], ("heartbeat", "login_method", "virtual_host", *_TLS)),
    "database_url": {**dict.fromkeys(_POSTGRES, _LIBPQ), "sqlite": ()},
}
"""The query parameters of a server's URL, by scheme. The client libraries would report any other as a bug of ours."""

# Greedy up to the last @, because people paste passwords that contain one.
_PASSWORD = re.compile(r"(://[^:/?#]*:).*@")
_BEFORE_LAST_AT = re.compile(r"://.*@")
_USER = re.compile(r"://[^@]*@")
_SECRET_PARAM = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def _servers(name: str, value: str) -> list[str]:
    """A broker URL may name several servers. The first that answers is used."""
    return value.split(";") if name == "broker_url" else [value]


def is_server(name: str, value: str) -> bool:
    try:
        return all(_has_valid_target(url, SERVERS[name][0]) for url in _servers(name, value))
    except ValueError:
        return False


def _has_valid_target(url: str, schemes: tuple[str, ...]) -> bool:
    """Raises ValueError if the URL cannot be parsed."""
    scheme = url.partition("://")[0]
    # SQLAlchemy accepts passwords that contain a slash.
    parts = urlsplit(_USER.sub("://", url) if scheme in _POSTGRES else url)
    if scheme not in schemes or parts.port == 0 or parts.netloc.endswith(":"):
        return False
    if scheme in _FILES:
        return not parts.hostname and len(parts.path) > 1
    if scheme in _REDIS and not (parts.path.strip("/") or "0").isdecimal():
        return False
    # Without a host, PostgreSQL means a socket of this machine. Redis has no such meaning.
    return bool(parts.hostname) or scheme in _POSTGRES


def check_parameters(name: str, value: str, origin: str) -> None:
    for url in _servers(name, value):
        # A PostgreSQL password may contain a question mark, which elsewhere begins the query.
        parts = urlsplit(_BEFORE_LAST_AT.sub("://", url) if url.startswith(_POSTGRES) else url)
        known = PARAMETERS[name][parts.scheme]
        for parameter in parse_qs(parts.query, keep_blank_values=True):
            if parameter not in known:
                raise UsageError(
                    f"{origin}: {name} has the parameter {parameter!r}, which is not known for {parts.scheme}://. "
                    f"Remove it; there are: {', '.join(known) or 'none'}."
                )


def mask_url(text: str) -> str:
    """Without passwords and keys."""
    return _SECRET_PARAM.sub(r"\1***", _PASSWORD.sub(r"\1***@", text))


def next_database(redis_url: str) -> str | None:
    """The broker's URL: the database after the frontier's. None if the URL's path is not a database number."""
    parts = urlsplit(redis_url)
    number, options = parts.path.strip("/") or "0", parts.query.split("&")
    if parts.scheme not in _REDIS or not number.isdecimal() or any(o.startswith("db=") for o in options):
        return None
    # Only redis-py knows the other parameters. Celery fails on a broker URL that has one.
    query = "&".join(option for option in options if option.startswith("ssl_"))
    return parts._replace(path=f"/{int(number) + 1}", query=query).geturl()
