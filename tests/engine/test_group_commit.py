from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from shoal.engine.saving.group_commit import GroupCommit


class Recorded:
    """Doubles numbers; keeps the groups it was called with, and can be held up."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.go_on = asyncio.Event()
        self.error: BaseException | None = None

    async def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.groups.append(list(numbers))
        await self.go_on.wait()
        if self.error:
            error, self.error = self.error, None
            raise error
        return [2 * number for number in numbers]


async def started(commit: GroupCommit[int, int], *numbers: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(commit(number)) for number in numbers]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_calls_that_arrive_during_one_are_made_together_next() -> None:
    call = Recorded()
    commit = GroupCommit(call)
    first = await started(commit, 1)
    others = await started(commit, 2, 3, 4)
    assert call.groups == [[1]]
    call.go_on.set()
    assert await asyncio.gather(*first, *others) == [2, 4, 6, 8]
    assert call.groups == [[1], [2, 3, 4]]
    assert await commit(5) == 10


async def test_an_error_reaches_every_caller_of_its_group_and_no_other() -> None:
    call = Recorded()
    commit = GroupCommit(call)
    first = await started(commit, 1, 2)
    later = await started(commit, 3)
    call.error = ValueError("no room")
    call.go_on.set()
    for task in first:
        with pytest.raises(ValueError, match="no room"):
            await task
    assert await asyncio.gather(*later) == [6]


async def test_a_cancelled_caller_takes_nothing_from_the_others() -> None:
    call = Recorded()
    commit = GroupCommit(call)
    gone, stays = await started(commit, 1, 2)
    gone.cancel()
    call.go_on.set()
    assert await stays == 4
    assert gone.cancelled() or gone.cancelling()


async def test_when_its_task_is_cancelled_nobody_is_left_waiting() -> None:
    call = Recorded()
    commit = GroupCommit(call)
    tasks = [*await started(commit, 1), *await started(commit, 2)]
    (running,) = asyncio.all_tasks() - {asyncio.current_task(), *tasks}
    running.cancel()
    done, waiting = await asyncio.wait(tasks, timeout=10)
    assert done == set(tasks) and not waiting and all(task.cancelled() for task in done)
