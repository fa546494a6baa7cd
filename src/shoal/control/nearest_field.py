"""Finds the field that was probably meant, for an unknown field of a body or an unknown query parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel

_CHARS = 40
"""No field has a longer name; a caller may send one of megabytes."""
_MEANT = {"robots": "ignore_robots"}
"""Where a name is like several fields."""
_ELSEWHERE = 0.8
"""How similar a name in another part of the body must be; 1 is the same."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name."""
    near = get_close_matches(name[:_CHARS], list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def did_you_mean_field(model: type[BaseModel], place: tuple[int | str, ...]) -> str:
    """The same for a field of a body. `place` is the path of the unknown field."""
    *outer, name = [step for step in place if isinstance(step, str)] or [""]
    inside = "".join(f"{step}." for step in outer)
    paths = _paths(model)
    beside = {path.removeprefix(inside): path for path in paths if path.rpartition(".")[0] == inside.removesuffix(".")}
    # Of fields with one name, the outermost.
    elsewhere = {path.rpartition(".")[2]: path for path in sorted(paths, key=lambda path: -path.count("."))}
    near = _nearest(name, beside, 0.6) or _nearest(name, elsewhere, _ELSEWHERE)
    return f"; did you mean {near}?" if near else ""


def _nearest(name: str, known: Mapping[str, str], similarity: float) -> str | None:
    if (meant := _MEANT.get(name, "")) in known:
        return known[meant]
    near = get_close_matches(name[:_CHARS], known, 1, similarity)
    return known[near[0]] if near else None


@cache
def _paths(model: type[BaseModel]) -> tuple[str, ...]:
    """Of all fields, as in `limits.pages`."""
    return tuple(
        path
        for name, field in model.model_fields.items()
        for path in (name, *(f"{name}.{inner}" for part in _models_in(field.annotation) for inner in _paths(part)))
    )


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
