"""What a crawler that behaves must make of a host: the yardstick for tests, known before any page is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Self


@dataclass(frozen=True)
class HostTruth:
    """The fate of every path of one host that is linked from that host itself, front page first.

    Paths are canonical: without fragments and tracking parameters. Requests that answer 5xx are tried at least
    three times, robots.txt and nofollow are respected.
    """

    pages: Mapping[str, int] = field(default_factory=dict)
    """Path -> final status."""
    redirects: Mapping[str, str] = field(default_factory=dict)
    """Path -> path it leads to."""
    dead: Mapping[str, int] = field(default_factory=dict)
    """Path -> the status it keeps answering. Of a redirect loop, the hop that closes it."""
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Linked but refused by robots.txt: path -> reason."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Linked but not to be followed: path -> reason."""
    broken: Mapping[str, str] = field(default_factory=dict)
    """Given up, because no answer or none of use can be had: path -> reason of the dead letter."""
    endless: Mapping[str, int] = field(default_factory=dict)
    """Prefix of paths that lead on for ever -> the most requests that may be wasted on them."""
    unlinked: Mapping[str, int] = field(default_factory=dict)
    """Pages that only the sitemap tells of: path -> status."""

    def __or__(self, other: Self) -> Self:
        return type(self)(**{f.name: {**getattr(self, f.name), **getattr(other, f.name)} for f in fields(self)})
