"""Runs a callback on a page and collects what it yields; whatever goes wrong in it is told with its place."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.model import ItemRecord, RejectRecord
from shoal.spiders.bounds import Bounds, stepwise
from shoal.spiders.item import Item, record_of
from shoal.spiders.page import Page, Request
from shoal.spiders.spider import Found, Spider, is_async

MAX_FOUND = 100_000
"""Per page; a callback that yields for ever ends here."""
PLAIN = "dict"
"""The type of items that are plain mappings."""


class CallbackFailed(Exception):
    """`reason` says spider, callback, error and line, and is the same for the same fault on another page."""

    def __init__(self, spider: Spider, callback: str, error: BaseException) -> None:
        self.reason = f"{spider.name}.{callback or spider.start.__name__}: {_fault(error)}"
        super().__init__(self.reason)


@dataclass(slots=True)
class Findings:
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    types: set[type[Item]] = field(default_factory=set)


async def run(spider: Spider, callback: str, page: Page, bounds: Bounds) -> Findings:
    """Raises CallbackFailed, also for a callback that takes too long or too much memory."""
    try:
        function = spider.named(callback)
        if is_async(function):
            found = await stepwise(_collect_async(function(page)), bounds)
        else:
            with bounds:
                found = collect(function, page)
        return _sorted_out(found, page)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        # Whatever a user's code raises is that page's fault, told with its place.
        raise CallbackFailed(spider, callback, error) from error


def collect(function: Callable[..., Any], page: Page) -> list[Found]:
    if is_async(function):
        return asyncio.run(_collect_async(function(page)))
    return _listed(function(page))


async def _collect_async(running: Any) -> list[Found]:
    if not isinstance(running, AsyncIterator):
        return _listed(await running)
    found: list[Found] = []
    async for each in running:
        _add(found, each)
    return found


def _listed(result: Any) -> list[Found]:
    if result is None:
        return []
    found: list[Found] = []
    alone = isinstance(result, Item | Mapping | Request) or not isinstance(result, Iterable)
    for each in [result] if alone else result:
        _add(found, each)
    return found


def _add(found: list[Found], each: Any) -> None:
    if each is not None and not isinstance(each, Item | Mapping | Request):
        raise TypeError(f"it yielded {type(each).__name__} {each!r:.80}: yield items, mappings or requests")
    if len(found) >= MAX_FOUND:
        raise OverflowError(f"it yielded more than {MAX_FOUND:,} items and requests for one page")
    found.append(each)


def _sorted_out(found: list[Found], page: Page) -> Findings:
    findings = Findings(rejects=[reject.record() for reject in page.rejects])
    for each in found:
        if isinstance(each, Request):
            json.dumps(each.meta)  # what cannot be kept must fail here, where its maker is known
            findings.requests.append(each)
        elif isinstance(each, Item):
            findings.types.add(type(each))
            findings.items.append(record_of(each))
        elif each is not None:
            findings.items.append(ItemRecord(PLAIN, json.loads(json.dumps(dict(each), default=str))))
    return findings


def _fault(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = __file__.rpartition("/shoal/")[0] + "/shoal/"
    theirs = [frame for frame in frames if not frame.filename.startswith(ours)] or list(frames)
    place = f" ({theirs[-1].filename.rpartition('/')[2]}:{theirs[-1].lineno})" if theirs else ""
    return f"{type(error).__name__}: {error}{place}"
