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

from shoal import __version__
from shoal.errors import UsageError
from shoal.settings.check_value import check_value, read_pools
from shoal.settings.server_urls import mask_url, next_database

SPOOL_BYTES = 4_000_000_000
PROJECT_TABLE = "crawl"
"""In shoal.toml: options of jobs, which are no settings; `cli/project_options.py` reads them."""
UP_FILE = "up.json"
"""In the home: the settings that `shoal up` gave its fleet, and what it starts. Locked while it runs."""
_UNSET = {"database_url": "SQLite in the home", "archive_url": "archive/ in the home", "browser": "found"}


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
        return ", ".join(value) if isinstance(value, tuple) else mask_url(str(value))

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
        if name not in NAMES:
            raise UsageError(f"{origin}: {name!r} is no setting of Shoal. {_way_out(name)}")
        value = read_pools(given, origin, cwd) if name == "proxies" else check_value(name, given, origin)
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


def _entries(text: str) -> int:
    """How many proxies a list has."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
