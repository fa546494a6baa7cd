"""All exceptions that Shoal raises on purpose.

    ShoalError
    ├── UsageError            2  an invalid flag, pattern, list or setting
    │   ├── InvalidURL        2  a text that is not a fetchable URL; `reason` says why
    │   ├── UnknownJob        2  no job has this name
    │   ├── UnknownHost       2  no host with this name was ever fetched
    │   ├── NeedsAdmin        2  only an admin may ask for this over the API
    │   ├── MissingExtra      2  a package is missing that an extra of the installation brings
    │   ├── NotSerializable   2  (scrapy/json_values.py) a value of a Scrapy request or item that JSON cannot hold
    │   └── BadSelector       2  (extract/extract_errors.py) an invalid selector, with its column
    ├── HomeError             2  the home is not a Shoal home, or from a newer version
    ├── Unavailable           5  a database, Redis or archive does not answer, or another process holds it
    │   ├── NoAnswer          5  the API does not answer
    │   ├── DiskFull          5  no disk space; the write changed nothing
    │   ├── ObjectMissing     5  an object store does not have this object
    │   ├── ObjectStoreAway   5  an object store fails or does not answer now, or is slower than what it is given
    │   ├── ObjectStoreRefused 5 an object store refuses access, or has no such bucket: waiting does not help
    │   ├── FrontierLost      5  the frontier does not know a job that it was given
    │   ├── FrontierFull      5  Redis is at its maxmemory: nothing more is queued or leased until there is room
    │   ├── FrontierBroken    5  the frontier's records are unusable; they are restored from the store
    │   └── TooMuchQueued     5  (fleet/append_urls.py) the frontier has no room for what the job already has
    ├── UnparsablePage        1  (extract/extract_errors.py) a page whose tree would cost far more than its size
    ├── CastError             1  (extract/extract_errors.py) a text that is not a value of the wanted type
    ├── BadJson               1  (extract/extract_errors.py) a body that is not JSON
    ├── NoPage                4  (jobs/fetch_one_page.py) a response that is not a page, or no response
    ├── ApiError           2, 5  an error response of the API, with the fields of its problem+json
    ├── HookFailed            1  (spiders/job_hooks.py) a spider's on_start or on_finish that failed
    ├── CrawlCancelled      130  something, likely the spider, cancelled the tasks of a crawl; it can be resumed
    ├── ExtractionFailed      3  an extraction that replaced nothing
    └── StaleCall             1  a frontier call older than one already answered

Expected results of a request (404, robots, time-out) are outcomes, not exceptions.
The number is the exit code of a command.
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
        """`need` says in words what is missing."""
        super().__init__(f"{need}: pip install 'shoal[{extra}]', or in a checkout pip install '.[{extra}]'")


class HomeError(ShoalError):
    exit_code = 2


class Unavailable(ShoalError):
    exit_code = 5


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""The system's error numbers for a full disk."""


class NoAnswer(Unavailable):
    pass


class DiskFull(Unavailable):
    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: the disk is full: make room")
        self.path = path


class ObjectMissing(Unavailable):
    def __init__(self, url: str) -> None:
        super().__init__(f"{url} is missing: restore it, or correct the URL")
        self.url = url


class ObjectStoreAway(Unavailable):
    pass


class ObjectStoreRefused(Unavailable):
    pass


class Busy(Unavailable):
    """Another process has locked the database for longer than usual."""


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


class CrawlCancelled(ShoalError):
    exit_code = 130


class ExtractionFailed(ShoalError):
    exit_code = 3


class ApiError(ShoalError):
    """An error response of the API. `status` is the HTTP status, and `errors` name the wrong fields."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or status))
        self.status = status
        self.title: str | None = problem.get("title")
        self.detail: str | None = problem.get("detail")
        self.request_id: str | None = problem.get("request_id")
        self.errors: list[dict[str, str]] = problem.get("errors", [])
        self.exit_code = 5 if status in (429, 502, 503, 504) else 1 if status == 500 else 2
