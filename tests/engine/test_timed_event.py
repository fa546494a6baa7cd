"""The event that requests and the engine wait for."""

from __future__ import annotations

import asyncio

from shoal.engine.timed_event import TimedEvent


async def test_it_ends_when_its_time_is_up_or_when_it_is_set() -> None:
    event = TimedEvent()
    assert not await event.set_within(0.0)
    waiting = [asyncio.create_task(event.set_within(seconds)) for seconds in (60.0, None)]
    await asyncio.sleep(0)
    event.set()
    async with asyncio.timeout(30):
        assert await asyncio.gather(*waiting) == [True, True]
    assert await event.set_within(60.0)


async def test_it_never_ends_too_early() -> None:
    """uvloop counts whole milliseconds: a start that came too early would wait again and again."""
    loop, event = asyncio.get_running_loop(), TimedEvent()
    for _ in range(20):
        began = loop.time()
        await event.set_within(0.0017)
        assert loop.time() - began >= 0.0017


async def test_one_that_is_cancelled_leaves_nothing_behind() -> None:
    event = TimedEvent()
    waiting = asyncio.create_task(event.set_within(60.0))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    event.set()
    assert waiting.cancelled()
