"""What the operator decides, read once at start from flags, environment and files, with each value's origin.

Order: flag > SHOAL_* > ./shoal.toml > [tool.shoal] in ./pyproject.toml > the user's config.toml; if none of them names
a Redis, the fleet is that of the `shoal up` which runs in the home, if one does. A value that cannot be used raises
UsageError, which names where it stands and what may stand there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from shoal import __version__
from shoal.errors import UsageError

_LOG_FORMS = ("auto", "json", "text")
_TRUE = ("on", "true", "yes", "1")
_FALSE = ("off", "false", "no", "0")
_NUMBERS: dict[str, tuple[type[int] | type[float], int, int]] = {
    "concurrency": (int, 1, 10_000),
    "slice_s": (float, 1, 300),
    "lease_s": (float, 3, 600),
    "silent_s": (float, 5, 600),
    "max_rate": (float, 0, 10_000),
}
UP_FILE = "up.json"
"""In the home: the settings that `shoal up` gave its fleet, and what it starts; locked for as long as it runs."""
_UNSET = {"database_url": "SQLite in the home", "archive_url": "archive/ in the home"}
_URLS = {"archive_url": "file:///srv/archive", "api_url": "http://localhost:8000"}

_REDIS = ("redis", "rediss")
_POSTGRES = ("postgresql", "postgres")
_FILES = ("unix", "redis+socket", "sqlite")
"""Schemes that name a path and no host."""
_SERVERS: dict[str, tuple[tuple[str, ...], str]] = {
    "redis_url": ((*_REDIS, "unix"), "redis://:password@host:6379/0, rediss:// likewise, or unix:///path"),
    "broker_url": (
        (*_REDIS, "redis+socket", "sentinel", "amqp", "amqps"),
        "redis://:password@host:6379/1, rediss://, sentinel:// or amqp:// likewise, or redis+socket:///path",
    ),
    "database_url": ((*_POSTGRES, "sqlite"), "postgresql://user:password@host:5432/name, or sqlite:///path"),
}
"""The schemes of each, and how it is written."""
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
    "broker_url": dict.fromkeys(_SERVERS["broker_url"][0], ("heartbeat", "login_method", "virtual_host", *_TLS)),
    "database_url": {**dict.fromkeys(_POSTGRES, _LIBPQ), "sqlite": ()},
}
"""What the query of a server's URL may hold, by its scheme: its clients take any other for a bug of ours."""

# Greedy up to the last @, because people paste passwords that hold one.
_PASSWORD = re.compile(r"(://[^:/?#]*:).*@")
_BEFORE_HOST = re.compile(r".*@")
_BEFORE_LAST_AT = re.compile(r"://.*@")
_USER = re.compile(r"://[^@]*@")
_SECRET_PARAM = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """None means not set; a database or archive that is not set is in the home."""

    home: Path
    redis_url: str | None = None
    broker_url: str | None = None
    database_url: str | None = None
    archive_url: str | None = None
    api_url: str | None = None
    token: str | None = None
    spiders: tuple[str, ...] = ()
    user_agent: str = f"shoal/{__version__}"
    contact: str | None = None
    allow_private: bool = False
    exclusions: Path | None = None
    """A file of what no job may request."""
    concurrency: int = 64
    """Requests in flight in one process."""
    slice_s: float = 30.0
    lease_s: float = 60.0
    """How long a worker that falls silent keeps the requests it holds."""
    silent_s: float = 60.0
    """A process of a fleet without progress for longer is replaced."""
    max_rate: float = 10.0
    """Requests per second and host that a job handed over by the API may ask for without the admin scope."""
    shared_jobs: bool = False
    """Every submit token sees and steers the jobs of all others."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of reverse proxies in front of the API, whose connections are many clients'."""
    log: str = "auto"
    """How a role of a fleet logs on stderr: `text`, `json`, or `auto`, which is text on a terminal only."""
    origins: Mapping[str, str] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, value and origin of each setting, fit to be shown: secrets are masked."""
        return [(name, self.shown(name), self.origins.get(name, "default")) for name in NAMES]

    def shown(self, name: str) -> str:
        value = getattr(self, name)
        if value is None or value == ():
            return _UNSET.get(name, "–")
        if name == "token":
            return "***"
        if isinstance(value, bool):
            return "on" if value else "off"
        return ", ".join(value) if isinstance(value, tuple) else _masked(str(value))

    @property
    def servers(self) -> str:
        """In words, where a process of a fleet finds what it needs; secrets are masked."""
        return f"Redis at {self.shown('redis_url')}, database: {self.shown('database_url')}"

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={shown}' for name, shown, _ in self.rows())})"


NAMES = tuple(name for name in Settings.__dataclass_fields__ if name != "origins")

_PREFIX = "SHOAL_"
_VARIABLES = {f"{_PREFIX}{name.upper()}": name for name in NAMES}
_OF_A_SERVICE = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)\Z|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_\w+)?)?\Z")
"""What Kubernetes sets in every container for a service that is called `shoal` or `shoal-…`."""


def load(flags: Mapping[str, str | None], env: Mapping[str, str], cwd: Path, user_config: Path) -> Settings:
    """`flags` are keyed by setting, None for a flag not given. `user_config` is the file, there or not."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, given, origin in _given(flags, env, cwd, user_config):
        value = _checked(name, given, origin)
        if name not in values:
            values[name], origins[name] = value, origin
    values["home"] = cwd / values.get("home", "shoal-data")
    if "exclusions" in values:
        values["exclusions"] = cwd / values["exclusions"]
    if "redis_url" not in values:
        for name, value, origin in _of_running_up(values["home"]):
            if name not in values:
                values[name], origins[name] = value, origin
    if "redis_url" in values:
        values.setdefault("broker_url", next_database(values["redis_url"]))
    if "contact" in values:
        values.setdefault("user_agent", f"shoal/{__version__} (+{values['contact']})")
    return Settings(**values, origins=origins)


def user_config_file(env: Mapping[str, str]) -> Path:
    root = Path(env.get("XDG_CONFIG_HOME", ""))
    # The XDG specification tells programs to ignore a relative path.
    return (root if root.is_absolute() else Path.home() / ".config") / "shoal" / "config.toml"


def _given(
    flags: Mapping[str, str | None], env: Mapping[str, str], cwd: Path, user_config: Path
) -> Iterator[tuple[str, Any, str]]:
    """Every value that somebody set, with its origin, the strongest first."""
    for name, text in flags.items():
        if text is not None:
            yield name, text, f"flag --{name.removesuffix('_url').replace('_', '-')}"
    for variable, text in env.items():
        if variable.startswith(_PREFIX) and text and not _OF_A_SERVICE.search(variable):
            yield _VARIABLES.get(variable, variable.removeprefix(_PREFIX)), text, variable
    project = _table(_toml(cwd / "pyproject.toml").get("tool"), "shoal")
    for origin, table in (
        ("shoal.toml", _toml(cwd / "shoal.toml")),
        ("pyproject.toml", project),
        (str(user_config), _toml(user_config)),
    ):
        for name, value in table.items():
            yield name, value, origin


def running_up(home: Path) -> dict[str, Any]:
    """What the `shoal up` that runs in this home has told of itself; empty if there is none."""
    try:
        file = (home / UP_FILE).open(encoding="utf-8")
    except OSError:
        return {}
    import fcntl

    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            told: dict[str, Any] = json.loads(file.read() or "{}")
            return told
    # Whoever wrote it has ended without removing it.
    return {}


def _of_running_up(home: Path) -> Iterator[tuple[str, Any, str]]:
    told = running_up(home)
    for name, value in told.get("settings", {}).items():
        yield name, value, f"shoal up, process {told['pid']}"


def _toml(path: Path) -> dict[str, Any]:
    try:
        if not path.exists():
            return {}
        # Most runs have no file, and tomllib costs several milliseconds.
        import tomllib

        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Correct or remove it.") from None
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML: {error}. Correct or remove it.") from None


def _table(tables: object, name: str) -> dict[str, Any]:
    found = tables.get(name) if isinstance(tables, dict) else None
    return found if isinstance(found, dict) else {}


def _checked(name: str, value: Any, origin: str) -> Any:
    if name not in NAMES:
        raise UsageError(f"{origin}: {name!r} is no setting of Shoal. There are: {', '.join(NAMES)}.")
    if name in ("allow_private", "shared_jobs"):
        return _boolean(name, value, origin)
    if name == "spiders":
        return _listed(name, value, origin, "module names, as a list or separated by commas")
    if name == "trusted_proxies":
        return _networks(name, value, origin)
    if name in _NUMBERS:
        return _number(name, value, origin)
    if not isinstance(value, str) or not value:
        raise _refused(name, value, origin, "text that is not empty")
    if name == "log" and value not in _LOG_FORMS:
        raise _refused(name, value, origin, f"one of {', '.join(_LOG_FORMS)}")
    if name in ("home", "exclusions"):
        return _path(name, value, origin)
    if name in _SERVERS and not _is_server(name, value):
        encoded = "; what a password has of / ? # @ : is written as in %2F"
        raise _refused(name, value, origin, _SERVERS[name][1] + (encoded if "@" in value else ""))
    if name in PARAMETERS:
        _check_parameters(name, value, origin)
    if name.endswith("_url") and not _is_url(value):
        raise _refused(name, value, origin, f"a URL with its scheme, as in {_URLS.get(name, _URLS['api_url'])}")
    if name in ("user_agent", "contact") and not (value.isascii() and value.isprintable()):
        raise _refused(name, value, origin, "printable ASCII, since it is sent as a header")
    return value


def _number(name: str, value: Any, origin: str) -> float:
    kind, least, most = _NUMBERS[name]
    try:
        number = kind(value)
    except (TypeError, ValueError):
        number = None
    if number is None or isinstance(value, bool) or not least <= number <= most:
        raise _refused(name, value, origin, f"a number from {least} to {most}")
    return number


def _boolean(name: str, value: Any, origin: str) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUE + _FALSE:
        return value.lower() in _TRUE
    raise _refused(name, value, origin, f"one of {', '.join(_TRUE + _FALSE)}")


def _listed(name: str, value: Any, origin: str, allowed: str) -> tuple[str, ...]:
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise _refused(name, value, origin, allowed)
    return tuple(stripped for entry in entries if (stripped := entry.strip()))


def _networks(name: str, value: Any, origin: str) -> tuple[str, ...]:
    allowed = "addresses or networks, as in 10.0.0.5 or 10.0.0.0/24, as a list or separated by commas"
    networks = _listed(name, value, origin, allowed)
    from ipaddress import ip_network

    try:
        for network in networks:
            ip_network(network, strict=False)
    except ValueError:
        raise _refused(name, value, origin, allowed) from None
    return networks


def _path(name: str, value: str, origin: str) -> Path:
    try:
        return Path(value).expanduser()
    except RuntimeError:
        raise _refused(name, value, origin, "a path; the home of that user is not known") from None


def _is_url(value: str) -> bool:
    try:
        return "://" in value and bool(urlsplit(value).scheme)
    except ValueError:
        return False


def _servers(name: str, value: str) -> list[str]:
    """A broker may be several, of which the first that answers is taken."""
    return value.split(";") if name == "broker_url" else [value]


def _is_server(name: str, value: str) -> bool:
    try:
        return all(_leads_somewhere(url, _SERVERS[name][0]) for url in _servers(name, value))
    except ValueError:
        return False


def _leads_somewhere(url: str, schemes: tuple[str, ...]) -> bool:
    """Raises ValueError for what cannot be read."""
    scheme = url.partition("://")[0]
    # SQLAlchemy takes passwords that hold a slash.
    parts = urlsplit(_USER.sub("://", url) if scheme in _POSTGRES else url)
    if scheme not in schemes or parts.port == 0 or parts.netloc.endswith(":"):
        return False
    if scheme in _FILES:
        return not parts.hostname and len(parts.path) > 1
    if scheme in _REDIS and not (parts.path.strip("/") or "0").isdecimal():
        return False
    # Without a host PostgreSQL is a socket of this machine; Redis would be taken for one that nobody named.
    return bool(parts.hostname) or scheme in _POSTGRES


def _check_parameters(name: str, value: str, origin: str) -> None:
    for url in _servers(name, value):
        # A password of PostgreSQL's may hold what would begin a query elsewhere.
        parts = urlsplit(_BEFORE_LAST_AT.sub("://", url) if url.startswith(_POSTGRES) else url)
        known = PARAMETERS[name][parts.scheme]
        for parameter in parse_qs(parts.query, keep_blank_values=True):
            if parameter not in known:
                raise UsageError(
                    f"{origin}: {name} has the parameter {parameter!r}, which is not known for {parts.scheme}://. "
                    f"Remove it; there are: {', '.join(known) or 'none'}."
                )


def _refused(name: str, value: Any, origin: str, allowed: str) -> UsageError:
    if isinstance(value, str) and name.endswith("_url") and "://" not in value:
        # What has no scheme may have a password all the same.
        value = _BEFORE_HOST.sub("***@", value)
    shown = "***" if name == "token" else _masked(repr(value))
    return UsageError(f"{origin}: {name} is {shown}, which cannot be used. Allowed: {allowed}.")


def _masked(text: str) -> str:
    return _SECRET_PARAM.sub(r"\1***", _PASSWORD.sub(r"\1***@", text))


def next_database(redis_url: str) -> str | None:
    """The broker beside the frontier: the database after its own. None if the URL's path does not number them."""
    parts = urlsplit(redis_url)
    number, options = parts.path.strip("/") or "0", parts.query.split("&")
    if parts.scheme not in _REDIS or not number.isdecimal() or any(o.startswith("db=") for o in options):
        return None
    # All others are of redis-py alone: a broker's URL that has one ends Celery.
    query = "&".join(option for option in options if option.startswith("ssl_"))
    return parts._replace(path=f"/{int(number) + 1}", query=query).geturl()
