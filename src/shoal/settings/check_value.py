"""Checks the value of one setting, whether it comes as text or from TOML, and gives it its type.

An invalid value raises UsageError, which names its origin and the valid values.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shoal.errors import UsageError
from shoal.settings.server_urls import PARAMETERS, SERVERS, check_parameters, is_server, mask_url

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
_URLS = {"archive_url": "file:///srv/archive or s3://bucket/prefix", "api_url": "http://localhost:8000"}

_SECRET_NAME = re.compile(r"[A-Za-z0-9_]+")
_PROJECT_NAME = re.compile(r"[^/\x00-\x1f\x7f]{1,200}")
_BEFORE_HOST = re.compile(r".*@")


def check_value(name: str, value: Any, origin: str) -> Any:
    """The value of a setting as its type. Raises UsageError."""
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
    if name in SERVERS and not is_server(name, value):
        encoded = "; in a password, write / ? # @ : as %2F %3F %23 %40 %3A"
        raise _refused(name, value, origin, SERVERS[name][1] + (encoded if "@" in value else ""))
    if name in PARAMETERS:
        check_parameters(name, value, origin)
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


def read_pools(value: Any, origin: str, folder: Path) -> dict[str, str]:
    """Pool -> its list. A text names a file, or is a proxy; a list of texts is the list itself."""
    found = value if isinstance(value, dict) else {}
    if not found or not all(isinstance(entry, str | list) for entry in found.values()):
        raise UsageError(
            f'{origin}: proxies must be a table of pools, as in de = "de.txt" or de = ["http://HOST:PORT"]'
        )
    pools = {}
    for name, entry in found.items():
        try:
            text = _list_of(entry, folder)
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise UsageError(f"{origin}: the list of the proxies {name} cannot be read: {entry}: {why}") from None
        pools[name] = text
    return pools


def _list_of(entry: str | list[Any], folder: Path) -> str:
    if isinstance(entry, list):
        return "\n".join(map(str, entry))
    return entry if "://" in entry else (folder / entry).read_text("utf-8")


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


def _refused(name: str, value: Any, origin: str, allowed: str) -> UsageError:
    if isinstance(value, str) and name.endswith("_url") and "://" not in value:
        # A URL without a scheme may still contain a password.
        value = _BEFORE_HOST.sub("***@", value)
    shown = "***" if name == "token" else mask_url(repr(value))
    return UsageError(f"{origin}: {name} is {shown}, which cannot be used. Allowed: {allowed}.")
