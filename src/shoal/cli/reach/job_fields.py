"""From the options of a command to the fields of `POST /jobs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.spiders.wish import pair

_LIMITS = {
    "max_pages": "pages",
    "max_depth": "depth",
    "max_bytes": "bytes",
    "max_seconds": "seconds",
    "max_pages_per_host": "pages_per_host",
}
_POLITENESS = ("rate", "per_host", "group")
_CALLED = {"proxy": "proxies", "allow_trap": "allow_traps"}


def job_fields(rules: Mapping[str, Any] | None, spider: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """All but the URLs; options by the names of the flags, with _ for -."""
    fields: dict[str, Any] = {"limits": {}, "politeness": {}}
    for name, value in options.items():
        if name in _LIMITS:
            fields["limits"][_LIMITS[name]] = value
        elif name in _POLITENESS:
            fields["politeness"][name] = value
        else:
            fields |= _field(name, value, fields)
    return {**fields, **({"rules": rules} if rules else {}), **({"spider": spider} if spider else {})}


def _field(name: str, value: Any, before: Mapping[str, Any]) -> dict[str, Any]:
    match name:
        case "ignore_robots":
            return {"politeness": {**before["politeness"], "robots": not value}}
        case "no_archive" | "no_text":
            return {name.removeprefix("no_"): not value}
        case "header":
            return {"headers": dict(pair(text, ":", "--header") for text in value)}
        case "cookie":
            return {"cookies": dict(pair(text, "=", "--cookie") for text in value)}
        case "keep_params" | "drop_params" | "formats" | "allow_trap":
            # On a command line one may have several in one.
            names = [part.strip() for text in value for part in text.split(",") if part.strip()]
            return {_CALLED.get(name, name): names}
        case _:
            return {_CALLED.get(name, name): value}
