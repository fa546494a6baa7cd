"""Finds what the documentation says about a field of a body, for error messages: few read a regular expression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo


def field_description(model: type[BaseModel], place: tuple[int | str, ...]) -> str | None:
    """The description of the field at this path, or of the innermost field around it that has one."""
    found: str | None = None
    models = [model]
    for step in (step for step in place if isinstance(step, str)):
        for field in [inner.model_fields[step] for inner in models if step in inner.model_fields]:
            found = field.description or next(_descriptions(field.annotation), found)
            models = list(_models_in(field.annotation))
    return found


def _descriptions(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Annotated:
        for about in annotation.__metadata__:
            if isinstance(about, FieldInfo) and about.description:
                yield about.description
    for argument in get_args(annotation):
        yield from _descriptions(argument)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
