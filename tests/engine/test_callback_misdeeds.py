"""What a callback does to its process ends its own page at most, and never the crawl."""

from __future__ import annotations

import asyncio
import io
import json
import locale
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shoal import Page, Spider, spider
from shoal.model import DeadLetter
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.callback_timer import CallbackTimeout
from shoal.spiders.run_callback import CallbackFailed, run
from tests.engine.conftest import Field, Pages, html, serving, spec


class BrokenText(Exception):
    def __str__(self) -> str:
        sys.exit("even here")


def recurse() -> None:
    recurse()


def nested() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


def swallow_in_a_loop() -> None:
    while True:
        try:
            time.sleep(60)
        except:  # noqa: E722
            pass


def swallow_exceptions() -> None:
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def fail(error: BaseException) -> None:
    raise error


def current_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


def cancel_all() -> None:
    for task in asyncio.all_tasks():
        task.cancel()


MISDEEDS: dict[str, tuple[Callable[[], object], str]] = {
    "exit": (lambda: sys.exit(3), "SystemExit: 3"),
    "exit-at-once": (lambda: os._exit(3), "SystemExit: os._exit(3)"),
    "interrupt": (lambda: fail(KeyboardInterrupt()), "KeyboardInterrupt (test_callback_misdeeds.py:"),
    "generator": (lambda: fail(GeneratorExit()), "GeneratorExit"),
    "cancelled": (lambda: fail(asyncio.CancelledError()), "CancelledError"),
    "cancel": (lambda: current_task().cancel(), "CancelledError: it cancelled the task of its page"),
    "cancel-all": (lambda: cancel_all(), "CancelledError: it cancelled the task of its page"),
    "base": (lambda: fail(BaseException("odd")), "BaseException: odd"),
    "text": (lambda: fail(BrokenText()), "BrokenText"),
    "stop": (lambda: asyncio.get_running_loop().stop(), "RuntimeError: a callback cannot stop the event loop"),
    "close": (lambda: asyncio.get_running_loop().close(), "RuntimeError"),
    "recursion": (recurse, "RecursionError"),
    "json": (lambda: json.dumps(nested()), "RecursionError"),
    "pickle": (lambda: pickle.dumps(nested()), "RecursionError"),
    "memory": (lambda: bytearray(1 << 40), "MemoryError"),
}
ENDLESS = {"loop": swallow_exceptions, "stubborn": swallow_in_a_loop}


def shop_of(misdeeds: dict[str, Callable[[], object]]) -> Spider:
    @spider()
    def shop(page: Page) -> Iterator[Any]:
        yield from page.follow("a")
        misdeed = misdeeds.get(page.url.rpartition("/")[2])
        if misdeed is not None:
            misdeed()
        yield {"url": page.url}

    return shop


async def crawl(
    crawler: Field, made: Spider, names: list[str], seconds: float = 1, await_s: float = 60
) -> dict[str, str | None]:
    """Name of page -> its dead letter's reason, if it has one."""
    pages: Pages = {"/": html(*(f"/{name}" for name in names)), **{f"/{name}": html() for name in names}}
    async with serving(pages) as site:
        crawler.add("job", spec(spider="here"), site.url())
        crawler.spider, crawler.bounds = made, CallbackLimits(seconds=seconds, await_s=await_s)
        await crawler.run("job")
        ends = {name: crawler.ending(site.url(f"/{name}")) for name in names}
    assert crawler.resting == {"job": "empty"}
    return {name: end.detail if isinstance(end, DeadLetter) else None for name, end in ends.items()}


async def test_a_callback_cannot_end_the_crawl(crawler: Field) -> None:
    misdeeds = {name: do for name, (do, _) in MISDEEDS.items()}
    ends = await crawl(crawler, shop_of(misdeeds), [*MISDEEDS, "tame"], seconds=60)
    assert ends.pop("tame") is None
    assert {name for name, end in ends.items() if end is None} == set()
    wrong = {name: end for name, end in ends.items() if not str(end).startswith(f"shop.shop: {MISDEEDS[name][1]}")}
    assert not wrong
    assert os._exit.__module__ == "posix"


async def test_a_callback_that_never_ends_is_interrupted(crawler: Field) -> None:
    ends = await crawl(crawler, shop_of({**ENDLESS}), [*ENDLESS])
    assert all(str(end).startswith("shop.shop: CallbackTimeout: it took more than 1 s") for end in ends.values())


async def test_an_async_callback_and_its_tasks_cannot_end_the_crawl(crawler: Field) -> None:
    async def leave() -> None:
        await asyncio.sleep(0)
        sys.exit(3)

    async def spin() -> None:
        while True:
            pass

    @spider()
    async def shop(page: Page) -> AsyncIterator[Any]:
        for request in page.follow("a"):
            yield request
        name = page.url.rpartition("/")[2]
        await asyncio.sleep(0.01)
        if name == "exit":
            await leave()
        if name == "exit-at-once":
            os._exit(3)
        if name == "task":
            await asyncio.gather(leave(), asyncio.sleep(0))
        if name == "inner":
            await asyncio.gather(asyncio.create_task(asyncio.wait_for(leave(), 5)))
        if name == "spin":
            await asyncio.create_task(spin())
        if name == "cancelled":
            raise asyncio.CancelledError
        yield {"url": page.url}

    ends = await crawl(crawler, shop, ["exit", "exit-at-once", "task", "inner", "spin", "cancelled", "tame"])
    assert ends.pop("tame") is None
    assert str(ends["exit"]).startswith("shop.shop: SystemExit: 3 (test_callback_misdeeds.py:")
    assert "os._exit(3)" in str(ends["exit-at-once"]) and "CancelledError" in str(ends["cancelled"])
    assert "a task of the callback ended with SystemExit: 3" in str(ends["task"])
    assert "a task of the callback ended with SystemExit: 3" in str(ends["inner"])
    assert "a task of the callback ended with CallbackTimeout: it took more than 1 s" in str(ends["spin"])


async def test_an_async_callback_can_cancel_only_itself(crawler: Field) -> None:
    async def wait(ready: asyncio.Event) -> None:
        ready.set()
        await asyncio.sleep(60)

    @spider()
    async def shop(page: Page) -> AsyncIterator[Any]:
        for request in page.follow("a"):
            yield request
        name = page.url.rpartition("/")[2]
        await asyncio.sleep(0.01)
        if name == "cancel":
            current_task().cancel()
            await asyncio.sleep(0)
        if name == "cancel-last":
            current_task().cancel()
        if name == "cancel-all":
            cancel_all()
        if name == "generator":
            raise GeneratorExit
        if name == "own-tasks":
            ready = asyncio.Event()
            waiting = asyncio.create_task(wait(ready))
            await ready.wait()
            assert asyncio.all_tasks() == {waiting, current_task()}
            waiting.cancel()
        if name == "timeout":
            with suppress(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(60)
        if name == "group":
            with suppress(ExceptionGroup):
                async with asyncio.TaskGroup() as group:
                    group.create_task(wait(asyncio.Event()))
                    group.create_task(asyncio.to_thread(fail, ValueError()))
        yield {"url": page.url}

    good = ["tame", "own-tasks", "timeout", "group"]
    ends = await crawl(crawler, shop, ["cancel", "cancel-last", "cancel-all", "generator", *good], seconds=60)
    assert {name for name in ends if ends[name] is None} == set(good)
    assert str(ends["cancel"]).startswith("shop.shop: CancelledError (test_callback_misdeeds.py:")
    assert str(ends["cancel-last"]).startswith("shop.shop: CancelledError")
    assert str(ends["cancel-all"]).startswith("shop.shop: CancelledError")
    assert str(ends["generator"]).startswith("shop.shop: GeneratorExit")
    assert current_task() in asyncio.all_tasks()


async def test_what_a_callback_changes_of_the_process_is_put_back(crawler: Field, tmp_path: Path) -> None:
    def change() -> None:
        os.chdir(tmp_path)
        for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        sys.path.clear()
        sys.setrecursionlimit(sys.getrecursionlimit() + 1)
        locale.setlocale(locale.LC_ALL, "C.UTF-8" if "UTF-8" not in locale.setlocale(locale.LC_ALL) else "C")
        sys.stdout = sys.stderr = io.StringIO()

    def state() -> list[Any]:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)]
        limits = [sys.getrecursionlimit(), locale.setlocale(locale.LC_ALL)]
        return [Path.cwd(), *handlers, *limits, sys.path[:], sys.stdout, sys.stderr]

    before = state()
    ends = await crawl(crawler, shop_of({"change": change, "later": lambda: time.sleep(60)}), ["change", "later"])
    assert state() == before
    assert ends["change"] is None
    # The time limit holds although its signal handler was replaced.
    assert "CallbackTimeout" in str(ends["later"])


async def test_a_child_of_a_callback_does_not_crawl_too(crawler: Field, tmp_path: Path) -> None:
    def fork() -> None:
        if child := os.fork():
            _, status = os.waitpid(child, 0)
            (tmp_path / "status").write_text(str(os.waitstatus_to_exitcode(status)))
        else:
            sys.exit(4)

    ends = await crawl(crawler, shop_of({"fork": fork}), ["fork", "tame"])
    assert ends == {"fork": None, "tame": None}
    assert (tmp_path / "status").read_text() == "0"


async def test_ctrl_c_in_a_callback_is_not_the_callbacks_failure() -> None:
    """As in `spider.run()`: Python raises KeyboardInterrupt in the callback when a person presses Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            await run(shop_of({"": lambda: signal.raise_signal(signal.SIGINT)}), "", a_page(), CallbackLimits())
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_callback_in_another_thread_cannot_end_it_either() -> None:
    """As on a fleet, where the event loop has its own thread."""
    failures: list[str] = []

    def crawl_in_thread() -> None:
        misdeeds = {name: MISDEEDS[name][0] for name in ("exit", "exit-at-once", "interrupt", "stop", "recursion")}
        for name, misdeed in {**misdeeds, "loop": swallow_exceptions}.items():
            limits = CallbackLimits(seconds=1 if name == "loop" else 60)
            try:
                asyncio.run(run(shop_of({"": misdeed}), "", a_page(), limits))
            except CallbackFailed as failed:
                failures.append(failed.reason)

    thread = threading.Thread(target=crawl_in_thread)
    thread.start()
    thread.join()
    expected = ["SystemExit: 3", "SystemExit: os._exit(3)", "KeyboardInterrupt", "RuntimeError", "RecursionError"]
    expected.append("CallbackTimeout")
    assert [failure for failure, word in zip(failures, expected, strict=True) if f": {word}" not in failure] == []


def a_page() -> Page:
    return Page("https://shop.example/", b"<p>x</p>")


async def test_an_async_callback_that_awaits_too_long_is_ended_whatever_it_catches(crawler: Field) -> None:
    async def ignore_the_end() -> None:
        while True:
            with suppress(asyncio.CancelledError, CallbackTimeout):
                await asyncio.sleep(1000)

    cleaned = []

    async def clean_up() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    @spider()
    async def shop(page: Page) -> AsyncIterator[Any]:
        for request in page.follow("a"):
            yield request
        match page.url.rpartition("/")[2]:
            case "sleep":
                await asyncio.sleep(1000)
            case "clean":
                await clean_up()
            case "stubborn":
                await ignore_the_end()
            case "stubborn-task":
                await asyncio.gather(ignore_the_end(), asyncio.sleep(1000))
        yield {"url": page.url}

    names = ["sleep", "clean", "stubborn", "stubborn-task"]
    async with asyncio.timeout(60):
        ends = await crawl(crawler, shop, [*names, "tame"], seconds=60, await_s=0.2)
    assert ends.pop("tame") is None
    words = "shop.shop: CallbackTimeout: it took more than 0.2 s for one page, with what it awaited"
    assert all(str(end).startswith(words) for end in ends.values()), ends
    assert "(test_callback_misdeeds.py:" in str(ends["sleep"])
    assert cleaned
    assert asyncio.all_tasks() == {current_task()}
