"""The processes of an extraction. If a page kills or blocks its process, the pool replaces it and blames that page.

The processes end with this one, however it ends: then the other end of their pipe is closed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from multiprocessing import connection, get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Self

from shoal.errors import ExtractionFailed
from shoal.jobs.reextraction_process import Extract, PageSource, Task, serve
from shoal.store.archive.archive_folders import ArchivePlace
from shoal.store.crawl.item_rows import staged_id
from shoal.urls import Params

START_S = 180.0
"""How long a process may take until it reads its first page. On a busy machine its imports alone take a while."""
STUCK_S = 60.0
"""A callback's own limits are much lower; this one is for what they cannot stop."""
RULES_CPU_S = 15.0
"""CPU time of one page by rules. Only an endless selector takes that long, and nothing else stops it."""
RULES_STUCK_S = 180.0
"""The same by the clock: other processes may leave this one little of the CPU."""
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
        self._by_rules = given[0].rules is not None
        self._place = _NOWHERE
        self._since = self._cpu_since = 0.0
        self._stuck_by: str | None = None

    def give(self, part: list[Task]) -> None:
        self.part = part
        self._at.value = _NOWHERE
        self._look_from(_NOWHERE)
        self.pipe.send(part)

    def kill(self) -> None:
        self._process.kill()

    def kill_if_stuck(self) -> None:
        place = self._at.value
        if place != self._place:
            self._look_from(place)
        elif limit := self._passed_limit():
            self._stuck_by = limit
            self.kill()

    def _look_from(self, place: int) -> None:
        self._place, self._since, self._cpu_since = place, time.monotonic(), self._cpu_s()

    def _passed_limit(self) -> str | None:
        passed_s = time.monotonic() - self._since
        if self._place == _NOWHERE:
            return f"{START_S:g} s" if passed_s > START_S else None
        if self._by_rules and self._cpu_s() - self._cpu_since > RULES_CPU_S:
            return f"{RULES_CPU_S:g} s"
        limit_s = RULES_STUCK_S if self._by_rules else STUCK_S
        return f"{limit_s:g} s" if passed_s > limit_s else None

    def _cpu_s(self) -> float:
        """0 where the system does not say."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0.0
        # The name of the program, in brackets, may have spaces.
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def gone(self) -> tuple[Task, list[Task], str]:
        """The page that ended the process, the rest of its part, and what happened. Raises ExtractionFailed if no page
        did."""
        self._process.join()
        code, place = self._process.exitcode or 0, self._at.value
        self.pipe.close()
        if place == _NOWHERE and self._stuck_by:
            raise ExtractionFailed(
                f"a process read no page within {self._stuck_by}; nothing was replaced: try fewer --processes,"
                " or try again when less runs on this machine"
            )
        if place == _NOWHERE:
            raise ExtractionFailed(
                f"a process ended with code {code} before it read a page; nothing was replaced: try again"
            )
        how = f"it ended its process by {f'signal {-code}' if code < 0 else f'code {code}'}"
        if self._stuck_by:
            how = f"reading it took more than {self._stuck_by}"
        return self.part[place], [*self.part[:place], *self.part[place + 1 :]], how


class ReextractionPool:
    def __init__(self, n: int, source: PageSource, archive: ArchivePlace, params: Params) -> None:
        """At most `n` processes, each started when all others are busy: a start takes longer than a few pages."""
        self._n = n
        self._given = (source, archive, params)
        self._idle: list[_Process] = []
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
            while len(self._busy) < self._n and (part := returned.pop() if returned else next(parts, None)):
                process = self._idle.pop() if self._idle else _Process(self._given)
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
                yield extracts

    def _with_news(self) -> list[_Process]:
        heard = connection.wait([process.pipe for process in self._busy], LOOK_EVERY_S)
        for process in self._busy:
            process.kill_if_stuck()
        return [process for process in self._busy if process.pipe in heard]


def _faulty(task: Task, fault: str) -> Extract:
    page = task.page
    return Extract(staged_id(page.job), page.fingerprint, page.token, fault=f"{fault}: {page.url}")
