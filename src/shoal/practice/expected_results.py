"""What a well-behaved crawler must find on a host. Tests compare crawls with it. It is known before any crawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self


@dataclass(frozen=True)
class ExpectedResults:
    """The expected outcome of every path that a host links to itself, starting at the front page.

    Paths are canonical: without fragments and tracking parameters. The crawler tries requests with a 5xx response at
    least three times, and respects robots.txt and nofollow.
    """

    pages: Mapping[str, int] = field(default_factory=dict)
    """Path -> final status."""
    redirects: Mapping[str, str] = field(default_factory=dict)
    """Path -> target path."""
    dead: Mapping[str, int] = field(default_factory=dict)
    """Path -> the status that it always has. For a redirect loop, the hop that closes it."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Linked, but refused by robots.txt: path -> reason."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Linked, but not to be followed: path -> reason."""
    broken: Mapping[str, str] = field(default_factory=dict)
    """Given up, because there is no response or no usable one: path -> reason of the dead letter."""
    endless: Mapping[str, int] = field(default_factory=dict)
    """Prefix of paths that never end -> the maximum number of requests wasted on them."""
    unlinked: Mapping[str, int] = field(default_factory=dict)
    """Pages that only the sitemap lists: path -> status."""

    def __or__(self, other: Self) -> Self:
        return type(self)(**{f.name: {**getattr(self, f.name), **getattr(other, f.name)} for f in fields(self)})
