"""URLs that grow: ever longer, deeper, repeating themselves, with ever more parameters.

Each rule says in words what in a canonical URL breaks it, and None if nothing does.
"""

from __future__ import annotations

from collections import Counter

MAX_CHARS = 2_000
"""Nearly every browser, cache and sitemap holds to about this length."""
MAX_SEGMENTS = 24
MAX_PARAMS = 20
SAME_SEGMENT = 4
"""A segment that often is one too many: /a/x/a/y/a/z/a. Three happen, as in /11/11/11."""
SAME_CYCLE = 3
"""Two or more segments, that often in a row: /a/b/a/b/a/b."""
SAME_PARAM = 3
"""A name with the same value, that often. Different values of a name are a list, and happen."""
SELF_NESTED = 2
"""A name that often within its own value: ?next=/in?next=/in?next=/in. Once happens."""
PLAIN_SLASHES = 1 + SAME_SEGMENT
"""Up to so many, two of them the scheme's, no path is too deep or repeats itself."""


def length(url: str) -> str | None:
    return f"{len(url):,} characters, and {MAX_CHARS:,} are the most" if len(url) > MAX_CHARS else None


def depth(url: str) -> str | None:
    parts = len(_segments(url))
    return f"{parts} parts in its path, and {MAX_SEGMENTS} are the most" if parts > MAX_SEGMENTS else None


def query_params(url: str) -> str | None:
    params = url.partition("?")[2].count("&") + 1
    return f"{params} query parameters, and {MAX_PARAMS} are the most" if params > MAX_PARAMS else None


def repeated_segment(url: str) -> str | None:
    segments = _segments(url)
    # Both kinds of repetition need three segments that were there before; hardly any URL has them.
    if len(segments) - len(set(segments)) < SAME_SEGMENT - 1:
        return None
    [(segment, times)] = Counter(segments).most_common(1)
    if times >= SAME_SEGMENT:
        return f"/{segment} {times} times in its path, and {SAME_SEGMENT - 1} are the most"
    cycle = _cycle(segments)
    return f"/{'/'.join(cycle)} {SAME_CYCLE} times in a row, and {SAME_CYCLE - 1} are the most" if cycle else None


def repeated_param(url: str) -> str | None:
    query = url.partition("?")[2]
    params = query.split("&")
    if len(params) >= SAME_PARAM:
        [(param, times)] = Counter(params).most_common(1)
        if times >= SAME_PARAM:
            return f"{param} {times} times in its query, and {SAME_PARAM - 1} are the most"
    if "%3D" not in query and query.count("=") <= len(params):
        return None
    for param in params:
        name, _, value = param.partition("=")
        # Each level escapes the = of the one within once more, unless nobody escapes anything.
        spelt = (f"{name}=", f"{name}%3D", f"{name}%253D", f"{name}%25253D")
        times = sum(map(value.count, spelt)) if name else 0
        if times >= SELF_NESTED:
            return f"{name} {times} times within its own value, and {SELF_NESTED - 1} is the most"
    return None


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
