"""URLs that grow: ever longer or deeper, with repetitions or ever more parameters.

Each rule returns a text that says what in a canonical URL breaks it, or None.
"""

from __future__ import annotations

import re
from collections import Counter

MAX_CHARS = 2_000
"""Nearly every browser, cache and sitemap keeps to about this length."""
MAX_SEGMENTS = 24
MAX_PARAMS = 20
SAME_SEGMENT = 4
"""How often a segment is too often: /a/x/a/y/a/z/a. Three times is common, as in /11/11/11."""
SAME_CYCLE = 3
"""How often two or more segments in a row are too often: /a/b/a/b/a/b."""
SAME_PARAM = 3
"""How often a name with the same value is too often. Different values of a name are a list, and common."""
SELF_NESTED = 2
"""How often a name within its own value is too often: ?next=/in?next=/in?next=/in. Once is common."""
_NESTED_NAME = re.compile(r"(?:\?|%(?:25)*+(?:3F|26|3B))([^?=%]++)(?:=|%(?:25)*+3D)")
"""A parameter within a value. Each level escapes the separators of the inner one again, unless nothing is escaped."""
PLAIN_SLASHES = 1 + SAME_SEGMENT
"""A path with no more slashes, two of them from the scheme, is neither too deep nor repetitive."""


def length(url: str) -> str | None:
    return f"{len(url):,} characters (limit {MAX_CHARS:,})" if len(url) > MAX_CHARS else None


def depth(url: str) -> str | None:
    parts = len(_segments(url))
    return f"{parts} parts in its path (limit {MAX_SEGMENTS})" if parts > MAX_SEGMENTS else None


def query_params(url: str) -> str | None:
    params = len(split_query(url.partition("?")[2]))
    return f"{params} query parameters (limit {MAX_PARAMS})" if params > MAX_PARAMS else None


def repeated_segment(url: str) -> str | None:
    segments = _segments(url)
    # Both kinds of repetition need three repeated segments, which hardly any URL has.
    if len(segments) - len(set(segments)) < SAME_SEGMENT - 1:
        return None
    [(segment, times)] = Counter(segments).most_common(1)
    if times >= SAME_SEGMENT:
        return f"/{segment} {times} times in its path (limit {SAME_SEGMENT - 1})"
    cycle = _cycle(segments)
    return f"/{'/'.join(cycle)} {SAME_CYCLE} times in a row (limit {SAME_CYCLE - 1})" if cycle else None


def repeated_param(url: str) -> str | None:
    query = url.partition("?")[2]
    params = split_query(query)
    if len(params) >= SAME_PARAM:
        [(param, times)] = Counter(params).most_common(1)
        if times >= SAME_PARAM:
            return f"{param} {times} times in its query (limit {SAME_PARAM - 1})"
    if "%3D" not in query and query.count("=") <= len(params):
        return None
    for param in params:
        name, _, value = param.partition("=")
        times = _NESTED_NAME.findall("?" + value).count(name) if name else 0
        if times >= SELF_NESTED:
            return f"{name} {times} times within its own value (limit {SELF_NESTED - 1})"
    return None


def split_query(query: str) -> list[str]:
    """The parameters. Some sites separate them with ; and some links have &amp; written twice."""
    if ";" not in query:
        return query.split("&")
    return [param for param in query.replace(";", "&").split("&") if param != "amp"]


def _segments(url: str) -> list[str]:
    segments = url.partition("?")[0].split("/")[3:]
    return segments if segments[-1] else segments[:-1]


def _cycle(segments: list[str]) -> list[str] | None:
    for length in range(2, len(segments) // SAME_CYCLE + 1):
        needed = length * (SAME_CYCLE - 1)
        run = 0
        for place, (earlier, later) in enumerate(zip(segments, segments[length:], strict=False), 1):
            run = run + 1 if earlier == later else 0
            if run == needed:
                return segments[place - length : place]
    return None
