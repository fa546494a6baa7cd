"""A field of an item that is a file: what it points to is downloaded, and the field says what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args

from pydantic import BaseModel, ConfigDict

from shoal.extract.casts import Url


class File(BaseModel):
    """Only `url` is known when the item is made. Shoal fills the others in when the file has been fetched."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    url: Url
    path: str | None = None
    """Where `shoal export --files` writes it."""
    bytes: int | None = None
    digest: str | None = None
    """Of its content: files with the same digest are the same."""
    content_type: str | None = None
    error: str | None = None
    """Why there is no file."""


@lru_cache(1024)
def has_files(cls: type[BaseModel]) -> bool:
    return any(_is_file(info.annotation, (cls,)) for info in cls.model_fields.values())


def _is_file(annotation: Any, around: tuple[type, ...]) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in around:
        inner = (*around, annotation)
        fields = annotation.model_fields.values()
        return annotation is File or any(_is_file(info.annotation, inner) for info in fields)
    return any(_is_file(part, around) for part in get_args(annotation))


def files_in(value: Any) -> Iterator[File]:
    """The files of an item, in its nested items and lists too."""
    if isinstance(value, File):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from files_in(getattr(value, name))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from files_in(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from files_in(each)
