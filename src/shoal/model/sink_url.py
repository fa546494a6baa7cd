"""The URL of a sink, as a job names it. It has no secret: a password is a reference, `{secret:NAME}`.

The process that feeds the sink looks the secret up in its own settings. So neither the job's record, nor a log, nor the
list of processes has it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from shoal.errors import UsageError
from shoal.telemetry.mask_secrets import is_secret, masked

SECRET = re.compile(r"\{secret:([A-Za-z0-9_]+)\}")
_CLASS = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
_SQLITE = "sqlite:///"
_LOCAL = ("sqlite", "file")
SCHEMES = ("sqlite", "postgresql", "postgres", "redis", "rediss", "https", "http", "file", "mysql", "mariadb")
_TABLES = ("sqlite", "postgresql", "postgres", "mysql", "mariadb")
_HOW = "as in postgresql://user:{secret:NAME}@host/db, with the setting SHOAL_SECRET_NAME"


@dataclass(frozen=True, slots=True)
class SinkUrl:
    scheme: str
    """`class` for a class by its import path."""
    address: str
    """The URL without the parameters that are ours, or the import path."""
    options: Mapping[str, str]
    """Our parameters, such as `table`."""

    @property
    def is_local(self) -> bool:
        """Whether it writes files of the machine that feeds the sink."""
        return self.scheme in _LOCAL


def check_sink(text: str) -> None:
    """Raises UsageError for a URL that no settings can make good."""
    if text.startswith("{secret:"):
        return
    url = SECRET.sub("secret", text)
    read_sink(url)
    parts = urlsplit(text)
    if parts.password and not SECRET.search(parts.password):
        raise UsageError(f"sink {masked(text)}: a job never holds a password; name a secret, {_HOW}")
    for name, value in parse_qsl(parts.query):
        if is_secret(name) and not SECRET.fullmatch(value) and name not in _OWN[parts.scheme]:
            raise UsageError(f"sink {masked(text)}: {name} is a secret; write {name}={{secret:NAME}}, {_HOW}")


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
    if found := _CLASS.fullmatch(text):
        return SinkUrl("class", found[0], {})
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise UsageError(f"sink {masked(text)} is no URL: write it as in {_EXAMPLES['postgresql']}") from None
    if parts.scheme not in SCHEMES:
        raise UsageError(
            f"sink {masked(text)}: Shoal has no sink for {parts.scheme or 'a URL without a scheme'}; there are: "
            f"{', '.join(f'{scheme}://' for scheme in _EXAMPLES)} and package.module:Class"
        )
    return _with_options(text)


def _with_options(text: str) -> SinkUrl:
    parts = urlsplit(text)
    own = _OWN[parts.scheme]
    # The query of an HTTP endpoint is its own; our parameters are in the fragment, which is never sent.
    mark = "#" if parts.scheme in ("http", "https") else "?"
    base, _, parameters = text.partition(mark)
    pairs = parse_qsl(parameters, keep_blank_values=True)
    options = {name: value for name, value in pairs if name in own or _names_table(parts.scheme, name)}
    others = [(name, value) for name, value in pairs if name not in options]
    strangers = [name for name, _ in others] if parts.scheme in _STRICT else []
    if strangers:
        raise UsageError(f"sink {masked(text)} has the parameter {strangers[0]}; there are: {', '.join(own) or 'none'}")
    return SinkUrl(parts.scheme, f"{base}{mark}{urlencode(others)}" if others else base, options)


def _names_table(scheme: str, name: str) -> bool:
    return scheme in _TABLES and name.startswith("table.")


_EXAMPLES = {
    "sqlite": "sqlite:///items.db?table=books",
    "postgresql": "postgresql://user@host/db?table=books",
    "mysql": "mysql://user@host/db?table=books",
    "redis": "redis://host/0?list=books",
    "https": "https://host/items",
    "file": "file:///srv/books/",
}
_PARTS = ("format", "rows", "seconds")
_REDIS = ("list", "stream", "most")
_OWN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_TABLES, ("table",)),
    **dict.fromkeys(("redis", "rediss"), _REDIS),
    **dict.fromkeys(("https", "http"), ("secret", "rows")),
    **dict.fromkeys(("mysql", "mariadb"), ("table", "ssl_ca")),
    "file": _PARTS,
}
_STRICT = ("sqlite", "file", "mysql", "mariadb", "https", "http")
"""Schemes that have no other parameters than ours there."""
