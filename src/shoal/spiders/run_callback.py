"""Runs a callback on a page and collects what it yields. A failure is reported with its file and line."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import threading
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from shoal.model import ItemRecord, RejectRecord
from shoal.spiders.callback_limits import NO_CRASH_MARK, CallbackLimits, CrashMark, await_stepwise
from shoal.spiders.callback_tasks import in_own_task, undo_cancel
from shoal.spiders.file_field import files_in, has_files
from shoal.spiders.item import Item, record_of, records_of
from shoal.spiders.item_steps import DropItem, ItemStep, count_drop
from shoal.spiders.page import Page, Request
from shoal.spiders.spider import Spider, is_async
from shoal.store.database.storable_text import json_text

MAX_FOUND = 100_000
"""Per page; stops a callback that yields for ever."""
OURS = Path(__file__).parents[1]
"""The folder of callbacks that were made of rules."""
NO_FOLDER = Path()
"""The folder of code without a file, such as "<frozen os>"."""
PLAIN = "dict"
"""The type of items that are plain mappings."""


class CallbackFailed(Exception):
    """`reason` has spider, callback, error and the last line of the spider's own code, if any. It is the same for the
    same fault on another page."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)

    @classmethod
    def of(cls, spider: Spider, callback: str, error: BaseException) -> CallbackFailed:
        place = _place(spider.callbacks.get(callback, spider.start), error)
        return cls.saying(spider, callback, f"{_words(error)}{place}")

    @classmethod
    def saying(cls, spider: Spider, callback: str, what: str) -> CallbackFailed:
        return cls(f"{spider.name}.{callback or spider.start.__name__}: {what}")


def failure_reason(spider: Spider, function: Callable[..., Any], error: BaseException) -> str:
    """Spider, function, error and the last line of the spider's own code, if any."""
    return f"{spider.name}.{function.__name__}: {_words(error)}{_place(function, error)}"


@dataclass(slots=True)
class CallbackResult:
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    types: set[type[Item]] = field(default_factory=set)
    matches: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    """As in Page."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Items that the spider's steps dropped, by reason."""
    files: list[str] = field(default_factory=list)
    """The URLs of files that items refer to."""


async def run(
    spider: Spider, callback: str, page: Page, bounds: CallbackLimits, mark: CrashMark = NO_CRASH_MARK
) -> CallbackResult:
    """Raises CallbackFailed, also for a callback that takes too long or too much memory, or tries to end the process.
    An async callback sets `mark` for each of its steps."""
    is_waiting = False
    try:
        function = spider.named(callback)
        if not is_async(function) and not any(is_async(step.function) for step in spider.steps):
            return _with_known_callbacks(spider, await _call(_run_plain, bounds, function, page, spider.steps))
        is_waiting = True
        begin = partial(_await_callback, function, page, spider.steps, bounds, mark)
        found = await in_own_task(begin, mark, bounds.await_timeout(), bounds.await_s)
        is_waiting = False
        if isinstance(found, BaseException):
            raise found
        return _with_known_callbacks(spider, await _call(_sort_stepped, bounds, found, page))
    except BaseException as error:
        # Any exception of the user's code makes only this page fail, and is reported with its line.
        if (is_waiting and _ends_task(error)) or _is_ctrl_c(error):
            raise
        raise CallbackFailed.of(spider, callback, error) from error


def _with_known_callbacks(spider: Spider, result: CallbackResult) -> CallbackResult:
    check_requests(spider, result.requests)
    return result


def check_requests(spider: Spider, requests: list[Request]) -> None:
    """Raises UsageError for a callback that the spider does not have, before the page is fetched that it would get."""
    names = {request.callback for request in requests}
    names |= {request.options.errors for request in requests if request.options is not None}
    for name in names - {None}:
        spider.named(name or "")


async def _await_callback(
    function: Callable[..., Any], page: Page, steps: Sequence[ItemStep], bounds: CallbackLimits, mark: CrashMark
) -> Any:
    return await await_stepwise(_collect_stepped(function, page, steps), bounds, mark)


async def _collect_stepped(function: Callable[..., Any], page: Page, steps: Sequence[ItemStep]) -> _Stepped:
    found = await _collect_async(function(page)) if is_async(function) else _listed(function(page))
    return await _apply_steps(steps, found, page)


def _run_plain(function: Callable[..., Any], page: Page, steps: Sequence[ItemStep]) -> CallbackResult:
    return _sort_stepped(run_steps(steps, collect(function, page), page), page)


def _sort_stepped(stepped: _Stepped, page: Page) -> CallbackResult:
    result = sort_findings(stepped.found, page)
    result.dropped = stepped.dropped
    return result


class _Stepped(NamedTuple):
    found: list[Any]
    dropped: Mapping[str, int]


def run_steps(steps: Sequence[ItemStep], found: list[Any], page: Page) -> _Stepped:
    """Runs the steps on what a callback found. Async steps get an event loop of their own."""
    if not steps:
        return _Stepped(found, {})
    work = _apply_steps(steps, found, page)
    if any(is_async(step.function) for step in steps):
        return asyncio.run(work)
    try:
        work.send(None)
    except StopIteration as stop:
        stepped: _Stepped = stop.value
        return stepped
    finally:
        work.close()
    raise TypeError("a step that is no async function returned something to await: make it `async def`")


async def _apply_steps(steps: Sequence[ItemStep], found: list[Any], page: Page) -> _Stepped:
    dropped: Counter[str] = Counter()
    for step in steps:
        kept: list[Any] = []
        for each in found:
            kept += await _after_step(step, each, page, dropped) if isinstance(each, Item | Mapping) else [each]
        _check_number(kept)
        found = kept
    return _Stepped(found, dropped)


async def _after_step(step: ItemStep, item: Any, page: Page, dropped: Counter[str]) -> list[Any]:
    try:
        result = step(item, page)
        if inspect.isawaitable(result):
            result = await result
        if result is None:
            return [item]
        kept = await _collect_async(result) if isinstance(result, AsyncIterator) else _listed(result)
    except DropItem as drop:
        count_drop(dropped, str(drop))
        return []
    if not kept:
        count_drop(dropped, f"{step.function.__name__} gave no item")
    return kept


async def _call(function: Callable[..., CallbackResult], bounds: CallbackLimits, *given: Any) -> CallbackResult:
    """Calls what runs the user's code in the task of this page."""
    task = asyncio.current_task()
    assert task is not None
    cancels = task.cancelling()
    try:
        with bounds:
            return function(*given)
    finally:
        if task.cancelling() > cancels:
            await undo_cancel(task, cancels)
            raise asyncio.CancelledError("it cancelled the task of its page")


def _ends_task(error: BaseException) -> bool:
    """Whether the engine cancels or closes the task that awaits the callback."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit)


def _is_ctrl_c(error: BaseException) -> bool:
    """Whether a signal handler raised it, and not the callback itself."""
    if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return True
    *_, (innermost, _) = traceback.walk_tb(error.__traceback__)
    return innermost.f_code.co_filename == asyncio.runners.__file__


def collect(function: Callable[..., Any], given: Any) -> list[Any]:
    """What a function yields for a page, or for a job. An async one gets an event loop of its own."""
    if is_async(function):
        return asyncio.run(_collect_async(function(given)))
    return _listed(function(given))


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


def sort_findings(found: list[Any], page: Page) -> CallbackResult:
    findings = CallbackResult(rejects=[reject.record() for reject in page.rejects], matches=page.matches)
    # In groups of one class, because isinstance() is slow for Items.
    for cls, alike in groupby(found, type):
        if issubclass(cls, Item):
            findings.types.add(cls)
            items = list(alike)
            _add_items(findings, cls, items)
            if has_files(cls):
                findings.files += [file.url for each in items for file in files_in(each)]
        elif issubclass(cls, Request):
            findings.requests += alike
        elif issubclass(cls, Mapping):
            for each in alike:
                _add_plain(findings, each)
        elif cls is not type(None):
            each = next(alike)
            raise TypeError(f"it yielded {cls.__name__} {each!r:.80}: yield items, mappings or requests")
    return findings


def _add_items(findings: CallbackResult, cls: type[Item], items: list[Item]) -> None:
    try:
        findings.items += records_of(cls, items)
    except ValueError:
        # One by one, to find which of them cannot be stored.
        for item in items:
            _add_item(findings, item)


def _add_item(findings: CallbackResult, item: Item) -> None:
    try:
        findings.items.append(record_of(item))
    except ValueError as error:
        findings.rejects.append(_not_storable(type(item).__name__, dict(item), error))


def _add_plain(findings: CallbackResult, found: Mapping[Any, Any]) -> None:
    try:
        findings.items.append(ItemRecord(PLAIN, _text(dict(found))))
    except (TypeError, ValueError) as error:
        findings.rejects.append(_not_storable(PLAIN, found, error))


def _text(value: Any) -> str:
    """The value as JSON. Raises TypeError and ValueError if that is impossible."""
    return json_text(json.loads(json.dumps(value, default=_jsonable)))


def _jsonable(value: Any) -> Any:
    """Converts a value as an item's field would be stored: dates and decimals as text, sets as lists."""
    try:
        return to_jsonable_python(value)
    except ValueError as error:
        if isinstance(value, Item):
            return dict(value)  # so that the error names the value, not the item around it
        raise TypeError(f"cannot store {type(value).__name__}: give text, numbers, dates, lists or dicts") from error


def _not_storable(kind: str, found: Mapping[Any, Any], error: Exception) -> RejectRecord:
    """Keeps the storable fields and shows the others as text. `error` is the reason if no single field is at fault."""
    data: dict[str, Any] = {}
    faults = []
    for name, value in found.items():
        try:
            data |= json.loads(_text({name: value}))
        except (TypeError, ValueError) as fault:
            data[str(name)] = f"{value!r:.80}"
            faults.append(f"{name}: {fault}")
    return RejectRecord(kind, data, "; ".join(faults) or str(error))


def _words(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    except BaseException:
        # Its __str__ is the user's code as well.
        return type(error).__name__


def _place(callback: Callable[..., Any], error: BaseException) -> str:
    """The innermost line in the callback's file or its folder: the user cannot fix code further in."""
    code = getattr(inspect.unwrap(callback), "__code__", None)
    file = Path(code.co_filename if code else "")
    if file.is_relative_to(OURS):
        return ""
    lines = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [f"{path.name}:{line}" for path, line in lines if path == file or path.parent == file.parent != NO_FOLDER]
    return f" ({own[-1]})" if own else ""
