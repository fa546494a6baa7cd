"""The URL of a sink, as a job names it. It has no secret: a password is a reference, `{secret:NAME}`.

The process that feeds the sink looks the secret up in its own settings. So neither the job's record, nor a log, nor the
list of processes has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from shoal.errors import UsageError
from shoal.object_store.object_url import ENDPOINTS, ObjectUrl
from shoal.telemetry.mask_secrets import is_secret, masked

SECRET = re.compile(r"\{secret:([A-Za-z0-9_]+)\}")
_CLASS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_SQLITE = "sqlite:///"
_LOCAL = ("sqlite", "file")
_FOLDERS = ("file", *ENDPOINTS)
_HTTP = ("https", "http")
_TABLES = ("sqlite", "postgresql", "postgres", "mysql", "mariadb")
_HOW = "as in postgresql://user:{secret:NAME}@host/db, with the setting SHOAL_SECRET_NAME"


@dataclass(frozen=True, slots=True)
class SinkUrl:
    scheme: str
    """`class` for a class by its import path."""
    address: str
    """The URL without the parameters that are ours, or the import path."""
    options: Mapping[str, str]
    """Our parameters, such as `table`; the arguments of a class."""


def check_sink(text: str) -> SinkUrl | None:
    """Raises UsageError for a URL that no settings can make good. Returns None if a secret holds the URL."""
    if text.startswith("{secret:"):
        return None
    url = read_sink(SECRET.sub("secret", text))
    parts = urlsplit(text)
    if parts.password and not SECRET.search(parts.password):
        raise UsageError(f"sink {masked(text)}: a job never holds a password; name a secret, {_HOW}")
    for name, value in (*parse_qsl(parts.query), *parse_qsl(parts.fragment)):
        if is_secret(name) and not SECRET.fullmatch(value):
            raise UsageError(f"sink {masked(text)}: {name} is a secret; write {name}={{secret:NAME}}, {_HOW}")
    return url


def check_fleet_sink(url: SinkUrl, modules: Sequence[str]) -> None:
    """Raises UsageError for what a job of a fleet cannot have: files of one machine, and classes of other modules."""
    if url.scheme in _LOCAL:
        raise UsageError(
            f"sink {url.scheme}://: a fleet has many machines, and this writes to one: name a database or a bucket"
        )
    module = url.address.partition(":")[0]
    if url.scheme == "class" and module not in modules:
        known = ", ".join(modules) or "none"
        raise UsageError(f"sink {url.address}: {module} is no module in SHOAL_SPIDERS (it has: {known})")


def absolute_sink(text: str, folder: Path) -> str:
    """The same sink with an absolute path, if it is a SQLite file."""
    if not text.startswith(_SQLITE):
        return text
    path, mark, parameters = text.removeprefix(_SQLITE).partition("?")
    return f"{_SQLITE}{folder / path}{mark}{parameters}"


def resolve_sink(text: str, secrets: Mapping[str, str]) -> SinkUrl:
    """With the secrets in their places. Raises UsageError."""

    def value(found: re.Match[str]) -> str:
        secret = secrets.get(found[1].lower())
        if secret is None:
            raise UsageError(
                f"sink {masked(text)}: there is no secret {found[1]}: set SHOAL_SECRET_{found[1].upper()}, "
                f"or {found[1].lower()} under [secrets] in shoal.toml"
            )
        # At the start it is a URL, elsewhere a part of one.
        return secret if found.start() == 0 else quote(secret, safe="")

    return read_sink(SECRET.sub(value, text))


def read_sink(text: str) -> SinkUrl:
    path, _, parameters = text.partition("?")
    if _CLASS.fullmatch(path):
        return SinkUrl("class", path, dict(parse_qsl(parameters, keep_blank_values=True)))
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise UsageError(f"sink {masked(text)} is no URL: write it as in {_EXAMPLES['postgresql']}") from None
    if parts.scheme not in _OWN:
        raise UsageError(
            f"sink {masked(text)}: Shoal has no sink for {parts.scheme or 'a URL without a scheme'}; there are: "
            f"{', '.join(f'{scheme}://' for scheme in _EXAMPLES)} and package.module:Class"
        )
    url = _with_options(text)
    if url.scheme in _FOLDERS:
        ObjectUrl.parse(url.address)
    return url


def _with_options(text: str) -> SinkUrl:
    scheme = urlsplit(text).scheme
    own = _OWN[scheme]
    # The query of an HTTP endpoint is its own; our parameters are in the fragment, which is never sent.
    mark = "#" if scheme in _HTTP else "?"
    base, _, parameters = text.partition(mark)
    pairs = parse_qsl(parameters, keep_blank_values=True)
    options = {name: value for name, value in pairs if name in own or _names_table(scheme, name)}
    others = [(name, value) for name, value in pairs if name not in options]
    strangers = [name for name, _ in others] if scheme in _STRICT else []
    if strangers:
        raise UsageError(
            f"sink {masked(text)} has the unknown parameter {strangers[0]}; it takes {', '.join(own) or 'none'}"
        )
    return SinkUrl(scheme, f"{base}{mark}{urlencode(others)}" if others else base, options)


def _names_table(scheme: str, name: str) -> bool:
    return scheme in _TABLES and name.startswith("table.")


_EXAMPLES = {
    "sqlite": "sqlite:///items.db?table=books",
    "postgresql": "postgresql://user@host/db?table=books",
    "mysql": "mysql://user@host/db?table=books",
    "s3": "s3://bucket/books/",
    "file": "file:///srv/books/",
    "redis": "redis://host/0?list=books",
    "https": "https://host/items",
}
_OWN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_TABLES, ("table",)),
    **dict.fromkeys(("mysql", "mariadb"), ("table", "ssl_ca")),
    **dict.fromkeys(("redis", "rediss"), ("list", "stream", "max_length")),
    **dict.fromkeys(_HTTP, ("secret", "rows")),
    **dict.fromkeys(_FOLDERS, ("format", "rows", "minutes")),
}
"""Scheme -> our parameters of its URL."""
_STRICT = ("sqlite", "mysql", "mariadb", *_HTTP, *_FOLDERS)
"""Schemes that have no other parameters than ours there."""
