"""Processes that write one job's archive and rows: `python -m tests.store.archiving_process write|anywhere ...`.

`write PLACE HOME NUMBER` goes on until it is killed, and says after each group how many pages it has saved.
`anywhere HOMES URL` writes the same small archive again and again, in a folder or a bucket, each time in a home of its
own, killed before the first, the second and every further thing it does to a file, until one time nothing is left to
be killed before.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import signal
import sys
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shoal.errors import ObjectStoreAway
from shoal.store.archive.archive_and_save import archive_and_save
from shoal.store.archive.archive_folders import Archive, stored_path
from shoal.store.archive.capture import Capture
from shoal.store.archive.recorder import Recorder
from shoal.store.archive.spools import ALONE, ON_A_FLEET, SealLimits, Spools
from shoal.store.crawl.save_batch import Batch
from shoal.store.store import Store
from tests.store.archiving import ABOUT
from tests.store.make import JOB, page
from tests.store.warcs import capture

PAGES_AT_ONCE = 3
GROUPS = 4
_STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


def body_of(n: int) -> bytes:
    return f"<p>page {n}</p>".encode() * 20


def group(numbers: range) -> Batch:
    pages = [page(n) for n in numbers]
    return Batch(JOB, pages, captures=[(one, _capture(one.fingerprint)) for one in pages])


def _capture(n: int) -> Capture:
    """One in six is a file of items."""
    body = body_of(n)
    file = None if n % (2 * PAGES_AT_ONCE) else stored_path(hashlib.sha256(body).hexdigest())
    return capture(n, body, file=file)


def write(place: str, home: Path, number: int) -> None:
    with Store.open(place) as store:
        spools = Spools(Archive.at(None, home), "here", SealLimits(0.2, ON_A_FLEET.behind_bytes))
        recorder = Recorder(spools, JOB, ABOUT)
        for start in count(number * 1_000_000, PAGES_AT_ONCE):
            archive_and_save(store, group(range(start, start + PAGES_AT_ONCE)), recorder)
            spools.seal_due(store)
            print(start + PAGES_AT_ONCE - number * 1_000_000, flush=True)


def anywhere(homes: Path, archives: str) -> None:
    with TemporaryDirectory() as folder:
        # The other processes inherit what the first one imports and compiles.
        _write_and_seal(Path(folder), f"file://{folder}/archive")
    importlib.import_module("shoal.object_store.bucket")
    for step in count(1):
        (homes / str(step)).mkdir()
        child = os.fork()
        if not child:
            home, url = homes / str(step), f"{archives}/{step}"
            sys.addaudithook(_Killing(step, (str(home / "spool"), url.removeprefix("file://"))))
            _write_and_seal(home, url)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
            return


def _write_and_seal(home: Path, url: str) -> None:
    with Store.open(home / "shoal.db") as store:
        spools = Spools(Archive.at(url, home), "here", ALONE)
        recorder = Recorder(spools, JOB, ABOUT)
        for n in range(GROUPS):
            archive_and_save(store, group(range(n * PAGES_AT_ONCE, (n + 1) * PAGES_AT_ONCE)), recorder)
            if n % 2:
                recorder.seal(store)
        while spools.waiting_bytes:
            with suppress(ObjectStoreAway):
                spools.seal_all(store)
        spools.close()


class _Killing:
    def __init__(self, before: int, places: tuple[str, str]) -> None:
        self._left = before
        self._places = places

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if event in _STEPS and str(args[0]).startswith(self._places):
            self._left -= 1
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    if what == "write":
        write(given[0], Path(given[1]), int(given[2]))
    else:
        anywhere(Path(given[0]), given[1])
