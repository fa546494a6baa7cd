"""Shapes of URLs: what many URLs of a site have in common, such as `?action=edit`, `?oldid`, `/tag/*` or `*/feed`.

A shape is a readable text. A URL has several: each query parameter, with and without its value if that is a word, each
of the first directories, the words in its path, and a directory together with all parameters: `/tree/*?id`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from urllib.parse import unquote

SHAPE = "shape"
"""The reason of requests that are dropped because of their shape."""
BRINGS_NOTHING = ": the pages of this shape brought nothing new"
"""Follows the shape in their detail."""
MOST_SHAPES = 24
"""Of one URL."""
_MOST_TOGETHER = 6
"""A query with more parameters is no shape as a whole."""
_MOST_DIRECTORIES = 3
_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,29}")
_NAME = re.compile(r"[A-Za-z_][\w.\[\]-]{0,39}")
_NAMESPACE = re.compile(r"([A-Za-z_]{2,30}:)(?:([A-Za-z_]{2,40})/)?")
"""`Special:` and `Special:WhatLinksHere/`, as wikis have them in paths and in values."""
_SEPARATORS = re.compile("[&;]")


def allowing(shape: str) -> str:
    """The option that requests URLs of this shape."""
    return f"--allow-shape '{shape}'"


@lru_cache(maxsize=4096)
def shapes_of(url: str) -> tuple[str, ...]:
    """The shapes of a canonical URL, without its host."""
    path, _, query = url.split("/", 3)[3].partition("?")
    parameters = _parameters(query)
    # What the pages of a directory show with a query says nothing about those without one.
    with_query = "?" if query else ""
    paths = [f"{shape}{with_query}" for shape in _path_shapes(path)]
    shapes = [*_query_shapes(parameters), *paths, *_shapes_together(path, parameters)]
    return tuple(islice(dict.fromkeys(shapes), MOST_SHAPES))


def _parameters(query: str) -> list[tuple[str, str]]:
    """Names and values, without parameters that have no proper name."""
    pairs = [unquote(text).partition("=") for text in _SEPARATORS.split(query)[:MOST_SHAPES]] if query else []
    return [(name, value) for name, _, value in pairs if _NAME.fullmatch(name)]


def _query_shapes(parameters: list[tuple[str, str]]) -> list[str]:
    shapes: list[str] = []
    # A page that is shown by its id alone is another than its edit form, which has the id, too.
    any_value = "=*" if len(parameters) == 1 else ""
    for name, value in parameters:
        shapes.append(f"?{name}{any_value}")
        if _WORD.fullmatch(value):
            shapes.append(f"?{name}={value}")
        else:
            shapes += [f"?{name}={prefix}*" for prefix in _namespaces(value)]
    return shapes


def _path_shapes(path: str) -> list[str]:
    *directories, last = unquote(path).split("/")
    shapes: list[str] = []
    place = "/"
    for number, name in enumerate(directories[:_MOST_DIRECTORIES]):
        shapes += [f"{place}{prefix}*" for prefix in _namespaces(name + "/")]
        place += f"{name}/"
        shapes.append(f"{place}*")
        if number and _WORD.fullmatch(name):
            shapes.append(f"*/{name}/*")
    if len(directories) <= _MOST_DIRECTORIES:
        shapes += [f"{place}{prefix}*" for prefix in _namespaces(last)]
    end = last or (directories[-1] if directories else "")
    if len(directories) > (not last) and _WORD.fullmatch(end):
        shapes.append(f"*/{end}")
    return shapes


def _shapes_together(path: str, parameters: list[tuple[str, str]]) -> list[str]:
    """Where one script shows old versions and current ones, only the place and all parameters together tell them apart.

    The place is a directory itself, `/commit/?id`, or what is in it: `/commit/*?id`."""
    if not 1 <= len(parameters) <= _MOST_TOGETHER:
        return []
    *directories, last = unquote(path).split("/")
    first = directories[:_MOST_DIRECTORIES]
    rest = "*" if last or len(directories) > len(first) else ""
    places = ["".join(f"/{name}" for name in first) + f"/{rest}"]
    places += [f"*/{name}/{rest}" for name in first[-1:] if _WORD.fullmatch(name) and len(first) > 1]
    names = sorted({name for name, _ in parameters})
    words = {name: value for name, value in parameters if _WORD.fullmatch(value)}
    shapes = [f"{place}?{'&'.join(names)}" for place in places] if len(names) > 1 or first else []
    for name in words:
        shapes.append(f"{places[0]}?{'&'.join(f'{one}={words[one]}' if one == name else one for one in names)}")
    return shapes


def _namespaces(text: str) -> list[str]:
    found = _NAMESPACE.match(text)
    if found is None:
        return []
    return [found[1], f"{found[1]}{found[2]}/"] if found[2] else [found[1]]
