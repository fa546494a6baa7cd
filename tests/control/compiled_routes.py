"""The code that Werkzeug makes of each route, kept: making it anew for each app takes longer than most tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partialmethod
from typing import Any

from werkzeug.routing import Rule

_made: dict[tuple[Any, ...], Callable[..., tuple[str, str]]] = {}


def keep_compiled_routes() -> None:
    """The code knows nothing of an app: it gets the rule that it belongs to as its first argument."""
    Rule._compile_builder = partialmethod(_kept, Rule._compile_builder)  # type: ignore[assignment, method-assign]


def _kept(
    rule: Rule, compile_builder: Callable[[Rule, bool], Callable[..., tuple[str, str]]], append_unknown: bool = True
) -> Callable[..., tuple[str, str]]:
    defaults = tuple(sorted((rule.defaults or {}).items()))
    key = (rule.rule, rule.subdomain, rule.host, tuple(rule._trace), defaults, append_unknown)
    if key not in _made:
        _made[key] = compile_builder(rule, append_unknown)
    return _made[key]
