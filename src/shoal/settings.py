"""The operator's settings, read once at start from flags, environment and files, with each value's origin.

Order: flag > SHOAL_* > ./shoal.toml > [tool.shoal] in ./pyproject.toml > the user's config.toml. If none of them names
a Redis, and a `shoal up` runs in the home, its fleet is used. An invalid value raises UsageError, which names its
origin and the valid values.
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

SPOOL_BYTES = 4_000_000_000
_LOG_FORMS = ("auto", "json", "text")
_TRUE = ("on", "true", "yes", "1")
_FALSE = ("off", "false", "no", "0")
_NUMBERS: dict[str, tuple[type[int] | type[float], int, int]] = {
    "concurrency": (int, 1, 10_000),
    "scrapy_processes": (int, 0, 1_000),
    "slice_s": (float, 1, 300),
    "lease_s": (float, 3, 600),
    "silent_s": (float, 5, 600),
    "max_rate": (float, 0, 10_000),
    "spool_bytes": (int, 1_000_000, 10**15),
}
PROJECT_TABLE = "crawl"
"""In shoal.toml: options of jobs, which are no settings; `cli/project_options.py` reads them."""
UP_FILE = "up.json"
"""In the home: the settings that `shoal up` gave its fleet, and what it starts. Locked while it runs."""
_UNSET = {"database_url": "SQLite in the home", "archive_url": "archive/ in the home", "browser": "found"}
_URLS = {"archive_url": "file:///srv/archive or s3://bucket/prefix", "api_url": "http://localhost:8000"}

_REDIS = ("redis", "rediss")
_POSTGRES = ("postgresql", "postgres")
_FILES = ("unix", "redis+socket", "sqlite")
"""Schemes that name a path instead of a host."""
_SERVERS: dict[str, tuple[tuple[str, ...], str]] = {
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
    "broker_url": dict.fromkeys(_SERVERS["broker_url"][0], ("heartbeat", "login_method", "virtual_host", *_TLS)),
    "database_url": {**dict.fromkeys(_POSTGRES, _LIBPQ), "sqlite": ()},
}
"""The query parameters of a server's URL, by scheme. The client libraries would report any other as a bug of ours."""

_SECRET_NAME = re.compile(r"[A-Za-z0-9_]+")
_PROJECT_NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,200}")
# Greedy up to the last @, because people paste passwords that contain one.
_PASSWORD = re.compile(r"(://[^:/?#]*:).*@")
_BEFORE_HOST = re.compile(r".*@")
_BEFORE_LAST_AT = re.compile(r"://.*@")
_USER = re.compile(r"://[^@]*@")
_SECRET_PARAM = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """None means not set. If database or archive are not set, they are in the home."""

    home: Path
    redis_url: str | None = None
    broker_url: str | None = None
    database_url: str | None = None
    archive_url: str | None = None
    spool_bytes: int = SPOOL_BYTES
    """How much may wait on this machine for an archive in a bucket."""
    api_url: str | None = None
    token: str | None = None
    spiders: tuple[str, ...] = ()
    user_agent: str = f"shoal/{__version__}"
    contact: str | None = None
    allow_private: bool = False
    exclusions: Path | None = None
    """A file that lists what no job may request."""
    browser: str | None = None
    """The program that renders pages; None: the first that is found."""
    rendering: bool = False
    """Whether the processes of a worker have a browser each."""
    concurrency: int = 64
    """Requests in flight in one process."""
    scrapy_processes: int = 4
    """How many processes of Scrapy projects a worker runs at most."""
    scrapy_projects: Mapping[str, str] = field(default_factory=dict)
    """Projects that the API offers as scrapyd does: by name a folder, or the import path of the settings."""
    scrapy_uploads: bool = False
    """Admins may upload Scrapy projects over the API, and workers run them."""
    slice_s: float = 30.0
    lease_s: float = 60.0
    """How long a silent worker keeps the requests it holds."""
    silent_s: float = 60.0
    """A process of a fleet that makes no progress for longer is replaced."""
    max_rate: float = 10.0
    """Requests per second and host that a job of the API may use without the admin scope."""
    shared_jobs: bool = False
    """Every submit token can see and control the jobs of all others."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of reverse proxies in front of the API. Their connections carry many clients."""
    log: str = "auto"
    """How a role of a fleet logs on stderr: `text`, `json`, or `auto`, which is text on a terminal only."""
    proxies: Mapping[str, str] = field(default_factory=dict)
    """Pools of proxies by name: each is the text of a list."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Passwords and keys by name, for the sinks and proxies of jobs, which only name them."""
    origins: Mapping[str, str] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, value and origin of each setting, to show to people: secrets are masked."""
        return [(name, self.shown(name), self.origins.get(name, "default")) for name in NAMES]

    def shown(self, name: str) -> str:
        value = getattr(self, name)
        if value is None or value == () or value == {}:
            return _UNSET.get(name, "–")
        if name == "token":
            return "***"
        if name == "proxies":
            return ", ".join(f"{pool} ({_entries(text)})" for pool, text in value.items())
        if name == "scrapy_projects":
            return ", ".join(f"{project}={place}" for project, place in value.items())
        if isinstance(value, Mapping):
            return ", ".join(f"{secret}=***" for secret in value)
        if isinstance(value, bool):
            return "on" if value else "off"
        return ", ".join(value) if isinstance(value, tuple) else _masked(str(value))

    @property
    def servers(self) -> str:
        """The servers of a fleet's process, as text for a person: secrets are masked."""
        return f"Redis at {self.shown('redis_url')}, database: {self.shown('database_url')}"

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{name}={shown}' for name, shown, _ in self.rows())})"


NAMES = tuple(name for name in Settings.__dataclass_fields__ if name != "origins")

_PREFIX = "SHOAL_"
_SECRET = f"{_PREFIX}SECRET_"
_POOL = f"{_PREFIX}PROXIES_"
_VARIABLES = {f"{_PREFIX}{name.upper()}": name for name in NAMES}
_OF_A_SERVICE = re.compile(r"_SERVICE_(HOST|PORT(_\w+)?)\Z|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_\w+)?)?\Z")
"""Variables that Kubernetes sets in every container for a service called `shoal` or `shoal-…`."""


def load(flags: Mapping[str, str | None], env: Mapping[str, str], cwd: Path, user_config: Path) -> Settings:
    """`flags` maps setting to value, None if the flag is missing. `user_config` is the file, which need not exist."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, given, origin in _given(flags, env, cwd, user_config):
        value = _pools(given, origin, cwd) if name == "proxies" else _checked(name, given, origin)
        if name in ("secrets", "proxies"):
            values[name], origins[name] = {**value, **values.get(name, {})}, origins.get(name, origin)
        elif name not in values:
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
    """Every value that is set, with its origin, the strongest first."""
    for name, text in flags.items():
        if text is not None:
            yield name, text, f"flag --{name.removesuffix('_url').replace('_', '-')}"
    for variable, text in env.items():
        if variable.startswith(_SECRET) and text:
            yield "secrets", {variable.removeprefix(_SECRET): text}, variable
        elif variable.startswith(_POOL) and text:
            yield "proxies", {variable.removeprefix(_POOL).lower(): text}, variable
        elif variable.startswith(_PREFIX) and text and not _OF_A_SERVICE.search(variable):
            yield _VARIABLES.get(variable, variable.removeprefix(_PREFIX)), text, variable
    project = _table(read_toml(cwd / "pyproject.toml").get("tool"), "shoal")
    own = read_toml(cwd / "shoal.toml")
    own.pop(PROJECT_TABLE, None)
    for origin, table in (
        ("shoal.toml", own),
        ("pyproject.toml", project),
        (str(user_config), read_toml(user_config)),
    ):
        for name, value in table.items():
            yield name, value, origin


def running_up(home: Path) -> dict[str, Any]:
    """The settings of the `shoal up` that runs in this home; empty if there is none."""
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
    # The process that wrote the file has ended without removing it.
    return {}


def _of_running_up(home: Path) -> Iterator[tuple[str, Any, str]]:
    told = running_up(home)
    for name, value in told.get("settings", {}).items():
        yield name, value, f"shoal up, process {told['pid']}"


def read_toml(path: Path) -> dict[str, Any]:
    """Empty if there is no such file. Raises UsageError."""
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


def _way_out(name: str) -> str:
    # Only here: settings without a mistake need not load it.
    from shoal.model.options import OPTIONS

    option = OPTIONS.get(name.lower().replace("-", "_"))
    if option is not None:
        return f"It is an option of a job: put it under [crawl] in the project's shoal.toml, or give {option.flag}."
    return f"There are: {', '.join(NAMES)}."


def _checked(name: str, value: Any, origin: str) -> Any:
    if name not in NAMES:
        raise UsageError(f"{origin}: {name!r} is no setting of Shoal. {_way_out(name)}")
    if name in ("allow_private", "shared_jobs", "rendering", "scrapy_uploads"):
        return _boolean(name, value, origin)
    if name == "spiders":
        return _listed(name, value, origin, "module names, as a list or separated by commas")
    if name == "trusted_proxies":
        return _networks(name, value, origin)
    if name == "secrets":
        return _secrets(value, origin)
    if name == "scrapy_projects":
        return _projects(name, value, origin)
    if name in _NUMBERS:
        return _number(name, value, origin)
    if not isinstance(value, str) or not value:
        raise _refused(name, value, origin, "text that is not empty")
    if name == "log" and value not in _LOG_FORMS:
        raise _refused(name, value, origin, f"one of {', '.join(_LOG_FORMS)}")
    if name in ("home", "exclusions"):
        return _path(name, value, origin)
    if name in _SERVERS and not _is_server(name, value):
        encoded = "; in a password, write / ? # @ : as %2F %3F %23 %40 %3A"
        raise _refused(name, value, origin, _SERVERS[name][1] + (encoded if "@" in value else ""))
    if name in PARAMETERS:
        _check_parameters(name, value, origin)
    if name.endswith("_url") and not _is_url(value):
        raise _refused(name, value, origin, f"a URL with its scheme, as in {_URLS.get(name, _URLS['api_url'])}")
    if name == "archive_url":
        _check_archive(value, origin)
    if name in ("user_agent", "contact") and not (value.isascii() and value.isprintable()):
        raise _refused(name, value, origin, "printable ASCII, since it is sent as a header")
    return value


def _check_archive(value: str, origin: str) -> None:
    from shoal.object_store.object_url import ObjectUrl

    try:
        ObjectUrl.parse(value)
    except UsageError as error:
        raise UsageError(f"{origin}: archive_url: {error}") from None


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


def _secrets(value: Any, origin: str) -> dict[str, str]:
    found = value if isinstance(value, dict) else {}
    if not found or not all(_SECRET_NAME.fullmatch(name) and isinstance(text, str) for name, text in found.items()):
        # Without the values.
        raise UsageError(f"{origin}: secrets must be a table of names (letters, digits and _) with texts")
    return {name.lower(): text for name, text in found.items()}


def _projects(name: str, value: Any, origin: str) -> dict[str, str]:
    """A table, or text as in `shop=/srv/shop,news=news.settings`."""
    given = dict(entry.partition("=")[::2] for entry in value.split(",")) if isinstance(value, str) else value
    found = {str(key).strip(): str(place).strip() for key, place in given.items()} if isinstance(given, dict) else {}
    if not found or not all(_PROJECT_NAME.fullmatch(key) and _is_project(place) for key, place in found.items()):
        allowed = "names with an absolute folder or a settings module, as in shop=/srv/shop,news=news.settings"
        raise _refused(name, value, origin, allowed)
    return found


def _is_project(place: str) -> bool:
    return Path(place).is_absolute() or all(part.isidentifier() for part in place.split("."))


def _entries(text: str) -> int:
    """How many proxies a list has."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def _pools(value: Any, origin: str, folder: Path) -> dict[str, str]:
    """Pool -> its list. A text names a file, and a list of texts is the list itself."""
    found = value if isinstance(value, dict) else {}
    if not found or not all(isinstance(entry, str | list) for entry in found.values()):
        raise UsageError(
            f'{origin}: proxies must be a table of pools, as in de = "de.txt" or de = ["http://HOST:PORT"]'
        )
    pools = {}
    for name, entry in found.items():
        try:
            text = (folder / entry).read_text("utf-8") if isinstance(entry, str) else "\n".join(map(str, entry))
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise UsageError(f"{origin}: the list of the proxies {name} cannot be read: {entry}: {why}") from None
        pools[name] = text
    return pools


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
    """A broker URL may name several servers. The first that answers is used."""
    return value.split(";") if name == "broker_url" else [value]


def _is_server(name: str, value: str) -> bool:
    try:
        return all(_has_valid_target(url, _SERVERS[name][0]) for url in _servers(name, value))
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


def _check_parameters(name: str, value: str, origin: str) -> None:
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


def _refused(name: str, value: Any, origin: str, allowed: str) -> UsageError:
    if isinstance(value, str) and name.endswith("_url") and "://" not in value:
        # A URL without a scheme may still contain a password.
        value = _BEFORE_HOST.sub("***@", value)
    shown = "***" if name == "token" else _masked(repr(value))
    return UsageError(f"{origin}: {name} is {shown}, which cannot be used. Allowed: {allowed}.")


def _masked(text: str) -> str:
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
