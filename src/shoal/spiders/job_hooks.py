"""Runs the hooks of a spider: `on_start` before a job's first request, and `on_finish` after its last.

Both are plain or async, and run in a thread of their own, so that a slow one delays nothing else. They cannot end the
process.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from shoal.errors import ShoalError, UsageError
from shoal.spiders.callback_sandbox import exit_refused, process_protected
from shoal.spiders.page import Request
from shoal.spiders.run_callback import check_requests, collect, failure_reason
from shoal.spiders.spider import Spider

SECONDS = 600.0
"""How long a hook may take."""
MOST_SHARED_CHARS = 64_000


@dataclass(frozen=True, slots=True)
class JobInfo:
    """What a hook gets to know of its job."""

    id: str
    name: str
    state: str
    shared: Mapping[str, Any] = field(default_factory=dict)
    """What `on_start` gave to the callbacks."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """For `on_finish`: counts as `shoal job --json` has them."""


class HookFailed(ShoalError):
    """A hook raised an exception, or gave what cannot be used; the text names its line."""


class StartResult(NamedTuple):
    shared: dict[str, Any]
    requests: list[Request]


def run_on_start(spider: Spider, job: JobInfo, alone: bool) -> StartResult:
    """`alone`: no callbacks run in this process meanwhile. Raises HookFailed."""
    result = StartResult({}, [])
    for found in _run(spider, "on_start", job, alone):
        if isinstance(found, Request):
            result.requests.append(found)
        elif isinstance(found, Mapping):
            result.shared.update(found)
        elif found is not None:
            given = f"{type(found).__name__} {found!r:.80}"
            raise HookFailed(f"on_start failed: it gave {given}; give requests, or a mapping to share")
    _check_shared(result.shared)
    try:
        check_requests(spider, result.requests)
    except UsageError as error:
        raise HookFailed(f"on_start failed: {error}") from None
    return result


def run_on_finish(spider: Spider, job: JobInfo, alone: bool) -> None:
    """As run_on_start; what it returns is ignored."""
    _run(spider, "on_finish", job, alone)


def _run(spider: Spider, name: str, job: JobInfo, alone: bool) -> list[Any]:
    hook = spider.hooks.get(name)
    if hook is None:
        return []
    try:
        with process_protected() if alone else exit_refused():
            return collect(hook, job)
    except BaseException as error:
        # Any exception of the user's code; this thread gets no Ctrl-C.
        raise HookFailed(f"{name} failed: {failure_reason(spider, hook, error)}") from error


def time_up(spider: Spider, name: str, seconds: float) -> HookFailed:
    return HookFailed(f"{name} failed: {spider.name}.{spider.hooks[name].__name__}: it took more than {seconds:g} s")


def _check_shared(shared: Mapping[str, Any]) -> None:
    try:
        size = len(json.dumps(shared))
    except (TypeError, ValueError) as error:
        raise HookFailed(f"on_start failed: it gave a mapping that is not JSON: {error}") from None
    if size > MOST_SHARED_CHARS:
        raise HookFailed(f"on_start failed: it gave {size:,} characters to share; give at most {MOST_SHARED_CHARS:,}")
