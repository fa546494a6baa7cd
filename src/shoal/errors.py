"""Everything Shoal raises on purpose.

    ShoalError
    ├── UsageError            2  a flag, pattern, list or setting that cannot work
    │   ├── InvalidURL        2  text that is no fetchable URL; `reason` says why
    │   ├── UnknownJob        2  a name that no job has
    │   ├── UnknownHost       2  a name that no host has whom anything was asked of
    │   ├── NeedsAdmin        2  what only an admin may ask for over the API
    │   ├── MissingExtra      2  packages that only an extra of the installation brings
    │   └── BadSelector       2  (extract/faults.py) a selector that cannot work, with its column
    ├── HomeError             2  the home is not one of ours, or from a newer version
    ├── Unavailable           5  a database, Redis or archive that does not answer, or is held by another
    │   ├── DiskFull          5  one that has no room to write; nothing of what was to be written is
    │   ├── FrontierLost      5  a frontier that does not know a job which it was given
    │   ├── FrontierFull      5  a Redis at its maxmemory: nothing more is queued or leased until there is room
    │   ├── FrontierBroken    5  a frontier whose records cannot be used; they are restored from the store
    │   └── TooMuchQueued     5  (fleet/append.py) a frontier that has no room for what a job has already
    ├── TwistedPage           1  (extract/faults.py) a page whose tree would cost far more than its size
    ├── CastError             1  (extract/faults.py) a text that does not spell a value of the wanted kind
    ├── BadJson               1  (extract/faults.py) a body that is no JSON
    ├── NoPage                4  (jobs/one_page.py) an answer that is no page, or none
    ├── ApiError            2, 5  an answer of the API that is an error, with the fields of its problem+json
    ├── ExtractionFailed      3  an extraction that replaced nothing
    └── StaleCall             1  a frontier call older than one already answered

Expected endings of a request (404, robots, time-out) are outcomes, not exceptions.
The number is the exit code a command ends with.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class ShoalError(Exception):
    exit_code = 1


class UsageError(ShoalError):
    exit_code = 2


class InvalidURL(UsageError):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url!r} is not a URL that can be fetched: {reason}")
        self.url = url
        self.reason = reason


class UnknownJob(UsageError):
    pass


class UnknownHost(UsageError):
    pass


class NeedsAdmin(UsageError):
    pass


class MissingExtra(UsageError):
    def __init__(self, need: str, extra: str) -> None:
        """`need` in words, with what is missing."""
        super().__init__(f"{need}: pip install 'shoal[{extra}]', or in a checkout pip install '.[{extra}]'")


class HomeError(ShoalError):
    exit_code = 2


class Unavailable(ShoalError):
    exit_code = 5


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""What the system says of a full disk."""


class DiskFull(Unavailable):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: the disk is full: make room")
        self.path = path


class FrontierLost(Unavailable):
    def __init__(self, job: str) -> None:
        super().__init__(f"the frontier does not know job {job}: it was lost; `shoal rebuild {job}` restores it")


class FrontierFull(Unavailable):
    def __init__(self, address: str) -> None:
        super().__init__(f"Redis at {address} is at its maxmemory: raise it; nothing is lost until then")


class FrontierBroken(Unavailable):
    def __init__(self, fault: str) -> None:
        super().__init__(f"the frontier in Redis cannot be used ({fault}): tend restores its jobs from the store")


class StaleCall(ShoalError):
    """A caller repeated a call after it had already made a later one."""


class ExtractionFailed(ShoalError):
    exit_code = 3


class ApiError(ShoalError):
    """What the API answered; `status` is of HTTP, and `errors` name the fields that were wrong."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or status))
        self.status = status
        self.title: str | None = problem.get("title")
        self.detail: str | None = problem.get("detail")
        self.request_id: str | None = problem.get("request_id")
        self.errors: list[dict[str, str]] = problem.get("errors", [])
        self.exit_code = 5 if status in (429, 502, 503, 504) else 1 if status == 500 else 2
