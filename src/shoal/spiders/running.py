"""Runs a callback on a page and collects what it yields; whatever goes wrong in it is told with its place."""

from __future__ import annotations

import asyncio
import inspect
import json
import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from shoal.model import ItemRecord, RejectRecord
from shoal.spiders.bounds import Bounds, stepwise
from shoal.spiders.item import Item, record_of
from shoal.spiders.page import Page, Request
from shoal.spiders.spider import Spider, is_async
from shoal.store.text import json_text

MAX_FOUND = 100_000
"""Per page; a callback that yields for ever ends here."""
OURS = Path(__file__).parents[1]
"""Where a callback is that was made of rules."""
NO_FOLDER = Path()
"""Of what is in no file: "<frozen os>"."""
PLAIN = "dict"
"""The type of items that are plain mappings."""


class CallbackFailed(Exception):
    """`reason` says spider, callback, error and the line of the spider's that it came through, if it came through one;
    it is the same for the same fault on another page."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    @classmethod
    def of(cls, spider: Spider, callback: str, error: BaseException) -> CallbackFailed:
        place = _place(spider.callbacks.get(callback, spider.start), error)
        return cls.saying(spider, callback, f"{type(error).__name__}: {error}{place}")

    @classmethod
    def saying(cls, spider: Spider, callback: str, what: str) -> CallbackFailed:
        return cls(f"{spider.name}.{callback or spider.start.__name__}: {what}")


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
        return sorted_out(found, page)
    except Exception as error:
        # Whatever a user's code raises is that page's fault, told with its place.
        raise CallbackFailed.of(spider, callback, error) from error


def collect(function: Callable[..., Any], page: Page) -> list[Any]:
    if is_async(function):
        return asyncio.run(_collect_async(function(page)))
    return _listed(function(page))


async def _collect_async(running: Any) -> list[Any]:
    if not isinstance(running, AsyncIterator):
        return _listed(await running)
    found: list[Any] = []
    async for each in running:
        found.append(each)
        _check_number(found)
    return found


def _listed(result: Any) -> list[Any]:
    if result is None:
        return []
    alone = isinstance(result, Item | Mapping | Request) or not isinstance(result, Iterable)
    found = [result] if alone else list(islice(result, MAX_FOUND + 1))
    _check_number(found)
    return found


def _check_number(found: list[Any]) -> None:
    if len(found) > MAX_FOUND:
        raise OverflowError(f"it yielded more than {MAX_FOUND:,} items and requests for one page")


def sorted_out(found: list[Any], page: Page) -> Findings:
    findings = Findings(rejects=[reject.record() for reject in page.rejects])
    # By runs of one class, as they come: an Item is slow to be asked whether it is one.
    for cls, alike in groupby(found, type):
        if issubclass(cls, Item):
            findings.types.add(cls)
            for each in alike:
                _add_item(findings, each)
        elif issubclass(cls, Request):
            findings.requests += map(_keepable, alike)
        elif issubclass(cls, Mapping):
            for each in alike:
                _add_plain(findings, each)
        elif cls is not type(None):
            each = next(alike)
            raise TypeError(f"it yielded {cls.__name__} {each!r:.80}: yield items, mappings or requests")
    return findings


def _keepable(request: Request) -> Request:
    if request.meta is not None:
        json.dumps(request.meta)  # what cannot be kept must fail here, where its maker is known
    return request


def _add_item(findings: Findings, item: Item) -> None:
    try:
        findings.items.append(record_of(item))
    except ValueError as error:
        findings.rejects.append(_unkeepable(type(item).__name__, dict(item), error))


def _add_plain(findings: Findings, found: Mapping[Any, Any]) -> None:
    try:
        findings.items.append(ItemRecord(PLAIN, _text(dict(found))))
    except (TypeError, ValueError) as error:
        findings.rejects.append(_unkeepable(PLAIN, found, error))


def _text(value: Any) -> str:
    """As JSON has it. Raises TypeError and ValueError for what it cannot have."""
    return json_text(json.loads(json.dumps(value, default=_jsonable)))


def _jsonable(value: Any) -> Any:
    """What an item's field would be stored as: dates and decimals as text, sets as lists."""
    try:
        return to_jsonable_python(value)
    except ValueError as error:
        if isinstance(value, Item):
            return dict(value)  # so that the value which cannot be kept is named, and not the item around it
        raise TypeError(f"{type(value).__name__} cannot be kept: give text, numbers, dates, lists or dicts") from error


def _unkeepable(kind: str, found: Mapping[Any, Any], error: Exception) -> RejectRecord:
    """With what of it can be kept, and of the rest its looks; `error` is told if no field by itself is at fault."""
    data: dict[str, Any] = {}
    faults = []
    for name, value in found.items():
        try:
            data |= json.loads(_text({name: value}))
        except (TypeError, ValueError) as fault:
            data[str(name)] = f"{value!r:.80}"
            faults.append(f"{name}: {fault}")
    return RejectRecord(kind, data, "; ".join(faults) or str(error))


def _place(callback: Callable[..., Any], error: BaseException) -> str:
    """The innermost line of the callback's file and its neighbours: whoever wrote them can mend nothing further in."""
    code = getattr(inspect.unwrap(callback), "__code__", None)
    file = Path(code.co_filename if code else "")
    if file.is_relative_to(OURS):
        return ""
    lines = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [f"{path.name}:{line}" for path, line in lines if path == file or path.parent == file.parent != NO_FOLDER]
    return f" ({own[-1]})" if own else ""
