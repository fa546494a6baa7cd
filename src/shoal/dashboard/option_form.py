"""Options of a job in forms: the fields that a page offers, and what a person typed into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from shoal.errors import UsageError
from shoal.model import JobSpec
from shoal.model.option import Kind, Option
from shoal.model.options import OPTIONS, check_options

CHANGEABLE = ("rate", "per_host", "max_pages", "max_depth", "max_seconds", "scope", "include", "exclude")
SUBMITTABLE = ("name", "scope", "rate", "max_pages", "max_depth")
_WHOLE = (Kind.COUNT, Kind.SIZE)
_NUMBERS = (*_WHOLE, Kind.RATE, Kind.DURATION, Kind.SHARE, Kind.MONEY)


def form_value(spec: JobSpec, name: str) -> str:
    """The present value as the field shows it."""
    value = _at(spec, OPTIONS[name])
    if value is None:
        return ""
    if isinstance(value, tuple | list):
        return "\n".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def option_values(spec: JobSpec) -> list[tuple[Option, Any]]:
    """Every option that differs from its default."""
    values = [(option, _at(spec, option)) for option in OPTIONS.values()]
    return [(option, value) for option, value in values if value not in (option.field_default, None, (), [], {}, "")]


def changed_options(form: Mapping[str, str]) -> dict[str, Any]:
    """Only the fields that were sent; an empty one is not changed. Raises UsageError."""
    return _options(form, CHANGEABLE)


def submitted_job(form: Mapping[str, str]) -> tuple[list[str], dict[str, Any]]:
    """The URLs, one on a line, and the options; with rules as YAML under `rules`. Raises UsageError."""
    urls = [line.strip() for line in form.get("urls", "").splitlines() if line.strip()]
    options = _options(form, SUBMITTABLE)
    if text := form.get("rules", "").strip():
        try:
            options["rules"] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UsageError(f"the rules are not YAML: {error}") from error
    if not urls and "rules" not in options:
        raise UsageError("there is no URL to start from: give one on each line, or rules")
    return urls, options


def _options(form: Mapping[str, str], names: Sequence[str]) -> dict[str, Any]:
    given = {name: _typed(OPTIONS[name], form[name].strip()) for name in names if form.get(name, "").strip()}
    check_options(given)
    return given


def _typed(option: Option, text: str) -> Any:
    if option.many:
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if option.kind not in _NUMBERS:
        return text
    try:
        return int(text) if option.kind in _WHOLE else float(text)
    except ValueError:
        raise UsageError(f"{option.name} is {text!r}; give {option.wants}") from None


def _at(spec: JobSpec, option: Option) -> Any:
    value: Any = spec
    for part in option.path:
        value = getattr(value, part, None)
    return value
