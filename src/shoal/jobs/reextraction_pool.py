"""The processes of an extraction. If a page kills or blocks its process, the pool replaces it and blames that page.

The processes end with this one, however it ends: then the other end of their pipe is closed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from multiprocessing import connection, get_context
from multiprocessing.sharedctypes import Synchronized
from typing import Self

from shoal.errors import ExtractionFailed
from shoal.jobs.reextraction_process import Extract, PageSource, Task, serve
from shoal.store.archive.archive_folders import ArchivePlace
from shoal.store.crawl.staged_items import staged_id
from shoal.urls import Params

STUCK_S = 60.0
"""A callback's own limits are much lower; this one is for what they cannot stop."""
RULES_STUCK_S = 15.0
"""The same for rules. Rules wait for nothing: only an endless selector takes that long, and nothing else stops it."""
LOOK_EVERY_S = 1.0
_NOWHERE = -1


class _Process:
    def __init__(self, given: tuple[PageSource, ArchivePlace, Params]) -> None:
        # Not forked: each process loads the spider from its source, whatever this process has done since.
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._at: Synchronized[int] = context.Value("i", _NOWHERE, lock=False)
        self._process = context.Process(target=serve, args=(theirs, self._at, *given), daemon=True)
        self._process.start()
        theirs.close()
        self.part: list[Task] = []
        self._seen_at = (_NOWHERE, 0.0)
        self._stuck_s = STUCK_S if given[0].rules is None else RULES_STUCK_S
        self._was_stuck = False

    def give(self, part: list[Task]) -> None:
        self.part = part
        self._at.value = _NOWHERE
        self._seen_at = (_NOWHERE, time.monotonic())
        self.pipe.send(part)

    @property
    def is_stuck(self) -> bool:
        place, since = self._seen_at
        if self._at.value != place:
            self._seen_at = (self._at.value, time.monotonic())
            return False
        return time.monotonic() - since > self._stuck_s

    def kill(self) -> None:
        self._process.kill()

    def kill_stuck(self) -> None:
        self._was_stuck = True
        self.kill()

    def gone(self) -> tuple[Task, list[Task], str]:
        """The page that ended the process, the rest of its part, and what happened. Raises ExtractionFailed if no page
        did."""
        self._process.join()
        code, place = self._process.exitcode or 0, self._at.value
        self.pipe.close()
        if place == _NOWHERE:
            raise ExtractionFailed(
                f"a process ended with code {code} before it read a page; nothing was replaced: try again"
            )
        how = f"it ended its process by {f'signal {-code}' if code < 0 else f'code {code}'}"
        if self._was_stuck:
            how = f"reading it took more than {self._stuck_s:g} s"
        return self.part[place], [*self.part[:place], *self.part[place + 1 :]], how


class ReextractionPool:
    def __init__(self, n: int, source: PageSource, archive: ArchivePlace, params: Params) -> None:
        self._given = (source, archive, params)
        self._idle = [_Process(self._given) for _ in range(n)]
        self._busy: list[_Process] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._idle, *self._busy):
            process.kill()

    def extracts(self, parts: Iterator[list[Task]]) -> Iterator[list[Extract]]:
        """The results of each part, in any order."""
        returned: list[list[Task]] = []
        while True:
            while self._idle and (part := returned.pop() if returned else next(parts, None)):
                process = self._idle.pop()
                process.give(part)
                self._busy.append(process)
            if not self._busy:
                return
            for process in self._with_news():
                self._busy.remove(process)
                try:
                    extracts: list[Extract] = process.pipe.recv()
                    self._idle.append(process)
                except (EOFError, ConnectionResetError):
                    blamed, rest, how = process.gone()
                    extracts = [_faulty(blamed, how)]
                    returned += [rest] if rest else []
                    self._idle.append(_Process(self._given))
                yield extracts

    def _with_news(self) -> list[_Process]:
        heard = connection.wait([process.pipe for process in self._busy], LOOK_EVERY_S)
        for process in self._busy:
            if process.is_stuck:
                process.kill_stuck()
        return [process for process in self._busy if process.pipe in heard]


def _faulty(task: Task, fault: str) -> Extract:
    page = task.page
    return Extract(staged_id(page.job), page.fingerprint, page.token, fault=f"{fault}: {page.url}")
