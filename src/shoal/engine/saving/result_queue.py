"""A queue of results that wait to be saved, between the tasks that fetch and the task that saves."""

from __future__ import annotations

import asyncio

from shoal.engine.request_result import RequestResult
from shoal.model import PageRecord


class ResultQueue:
    def __init__(self) -> None:
        self._results: list[RequestResult] = []
        self._saving: list[RequestResult] = []
        self._has_some = asyncio.Event()
        self._fault: BaseException | None = None
        self.bytes = 0
        """Size of the pages that wait or are being saved."""

    def __len__(self) -> int:
        """Includes results that are being saved."""
        return len(self._results) + len(self._saving)

    @property
    def waiting(self) -> int:
        return len(self._results)

    @property
    def tokens(self) -> set[int]:
        """Tokens of the leases whose results are not saved yet."""
        return {result.lease.token for result in (*self._results, *self._saving)}

    def put(self, result: RequestResult) -> None:
        self._results.append(result)
        self.bytes += _bytes(result)
        self._has_some.set()

    def fail(self, error: BaseException | None) -> None:
        """Passes the error of a task on to whoever waits for results."""
        self._fault = error
        self._has_some.set()

    async def wait(self) -> None:
        """Waits for a result. Raises the error of a task that failed."""
        await self._has_some.wait()
        if self._fault is not None:
            raise self._fault

    def take(self, most: int) -> list[RequestResult]:
        """The results count as being saved until `saved` is called."""
        self._saving, self._results = self._results[:most], self._results[most:]
        if not self._results:
            self._has_some.clear()
        return self._saving

    def saved(self) -> None:
        self.bytes -= sum(map(_bytes, self._saving))
        for result in self._saving:
            if result.hold is not None:
                result.hold.release()
        self._saving = []


def _bytes(result: RequestResult) -> int:
    page_bytes = result.record.bytes if isinstance(result.record, PageRecord) else 0
    if result.capture is None:
        return page_bytes
    made = sum(len(resource.body) for resource in result.capture.resources)
    return max(page_bytes, len(result.capture.raw)) + made + sum(len(call.raw) for call in result.capture.calls)
