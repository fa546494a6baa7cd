"""What a browser adds to an exchange: whatever else the page did to become what it is."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class PageCall:
    """An answer that a script of the page asked for (XHR or fetch)."""

    url: str
    method: str
    status: int
    content_type: str
    body: bytes
    head: bytes
    """The answer's head, as HTTP/1.1."""
    request: bytes
    """The request without secrets."""
    started_at: float

    @property
    def data(self) -> Any:
        """The body as JSON. Raises ValueError."""
        return json.loads(self.body)


@dataclass(slots=True)
class Picture:
    """A screenshot, or the page as PDF."""

    kind: str
    """`view` for the page, `element`, or `pdf`."""
    content_type: str
    body: bytes


@dataclass(slots=True)
class RenderedPage:
    url: str
    """Where the page was in the end: scripts may change it."""
    document: bytes = b""
    """The HTML as the site sent it, before any script ran."""
    leads_to: str = ""
    """Where a script of the page wanted to go. It was not followed."""
    calls: list[PageCall] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)
    failed_requests: list[tuple[str, str]] = field(default_factory=list)
    """URL and reason."""
    pictures: list[Picture] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    """Host -> requests that were sent to it, with that for the page."""
    wire_bytes: int = 0
    playwright: Any = None
    """The page in Playwright while the callback has it, if its request has `playwright=True`."""
    ending: AsyncExitStack | None = None
    """Closes that page, and all that it needs."""
    timings: dict[str, float] = field(default_factory=dict)
    """Seconds from the start to the first byte, to the parsed page and to its load event."""
