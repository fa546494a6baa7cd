"""What a rendered page may request besides its document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubresourceRules:
    refusal: Callable[[str, bool], Awaitable[str | None]]
    """Why the page may not request a URL; it may have to fetch a robots.txt first. The second argument tells whether
    a script calls the URL, or a frame shows it."""
    for_assets: bool
    """Whether to ask about scripts, styles and pictures too."""
