"""The values that a field of an answer can have. A test compares them with the enumerations of the code."""

from __future__ import annotations

from typing import Literal

JobState = Literal["queued", "running", "waiting", "paused", "done", "limited", "cancelled", "failed", "interrupted"]
Lane = Literal["express", "batch", "slow"]
TokenScope = Literal["read", "submit", "admin"]
Overlap = Literal["skip", "queue", "allow"]
RunState = Literal["due", "begun", "skipped", "failed"]
ChangeKind = Literal["content", "markup", "no"]
UrlOutcome = Literal[
    "page", "redirect", "dead", "dropped", "queued", "waiting", "leased", "rejected", "skipped", "unknown"
]
