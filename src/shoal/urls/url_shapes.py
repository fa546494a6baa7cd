"""Shapes of URLs: what many URLs of a site have in common, such as `?action=edit`, `?oldid`, `/tag/*` or `*/feed`.

A shape is a readable text. A URL has several: each query parameter, with and without its value if that is a word, each
of the first directories, and the words in its path.
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
MOST_SHAPES = 16
"""Of one URL."""
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
    return tuple(islice(dict.fromkeys([*_query_shapes(query), *_path_shapes(path)]), MOST_SHAPES))


def _query_shapes(query: str) -> list[str]:
    shapes: list[str] = []
    for parameter in _SEPARATORS.split(query)[:MOST_SHAPES] if query else ():
        name, _, value = unquote(parameter).partition("=")
        if not _NAME.fullmatch(name):
            continue
        shapes.append(f"?{name}")
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
    above = len(directories) - (not last)
    if above > 0 and _WORD.fullmatch(end):
        shapes.append(f"*/{end}")
        if above > 1:
            # At this depth only: the feed of a section lists articles, those of the articles below list nothing new.
            shapes.append(f"{'/*' * above}/{end}")
    return shapes


def _namespaces(text: str) -> list[str]:
    found = _NAMESPACE.match(text)
    if found is None:
        return []
    return [found[1], f"{found[1]}{found[2]}/"] if found[2] else [found[1]]
