"""Signs of an endless site in a single URL: ever longer, deeper, repeating, or with exploding queries.

The rules read nothing but the URL, so every worker gives the same verdict. What they cannot see (calendars,
session ids) is bounded by the page limits of a job and of a host.
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


def trap(url: str) -> str | None:
    """The rule that a canonical URL breaks, such as `trap:depth`."""
    if len(url) > MAX_CHARS:
        return "trap:length"
    # Most URLs have too few slashes (two belong to the scheme) and ampersands to break any other rule.
    if url.count("/") < 2 + SAME_SEGMENT and url.count("&") < MAX_PARAMS:
        return None
    path, _, query = url.partition("?")
    if query.count("&") >= MAX_PARAMS:
        return "trap:query_params"
    segments = path.split("/")[3:]
    if not segments[-1]:
        segments.pop()
    if len(segments) > MAX_SEGMENTS:
        return "trap:depth"
    # Both kinds of repetition need three segments that were there before; hardly any URL has them.
    if len(segments) - len(set(segments)) >= SAME_SEGMENT - 1 and _repeats(segments):
        return "trap:repeated_segment"
    return None


def _repeats(segments: list[str]) -> bool:
    return max(Counter(segments).values()) >= SAME_SEGMENT or _has_cycle(segments)


def _has_cycle(segments: list[str]) -> bool:
    for length in range(2, len(segments) // SAME_CYCLE + 1):
        needed = length * (SAME_CYCLE - 1)
        run = 0
        for earlier, later in zip(segments, segments[length:], strict=False):
            run = run + 1 if earlier == later else 0
            if run == needed:
                return True
    return False
