"""Several processes and threads that write to one store at the same time."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select, text

from shoal.store.database import schema
from shoal.store.job_changes import admit
from shoal.store.jobs import load_job
from shoal.store.results.items import item_types, save_item_types
from shoal.store.results.job_figures import stored_figures
from shoal.store.store import Store
from shoal.store.tables import items, metadata
from tests.store.make import JOB, item_type, job_with
from tests.store.writing import KINDS, REQUESTS, SAVES, WRITERS, kind_of, requests_of, tokens_of

ROOT = Path(__file__).parents[2]


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def go_on_at_once(processes: list[subprocess.Popen[str]]) -> None:
    """Each reports that it is ready, and all continue when the last has."""
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def run_at_once(processes: list[subprocess.Popen[str]]) -> None:
    go_on_at_once(processes)
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0] * len(processes)


def at_once(call: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=call, args=[worker]) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_concurrent_outcomes_of_a_request_leave_only_the_newest(store: Store, place: Path | str) -> None:
    job_with(store)
    processes = [start("-m", "tests.store.writing", str(place), str(writer)) for writer in range(WRITERS)]
    run_at_once(processes)
    tokens = sorted(token for writer in range(WRITERS) for token in tokens_of(writer))
    newest = {request: (kind_of(token), token) for token in tokens for request in requests_of(token)}
    with store.read() as db:
        found = [
            (row.fingerprint, (kind, row.token)) for kind in KINDS for row in db.execute(select(metadata.tables[kind]))
        ]
        keys = db.execute(select(items.c.key, items.c.page, items.c.token)).all()
    assert len(found) == REQUESTS and dict(found) == newest
    assert keys and len({row.key for row in keys}) == len(keys)
    assert all(newest[row.page] == ("pages", row.token) for row in keys), "an item is as old as its page"
    assert stored_figures(store, JOB).skipped == dict.fromkeys("abc", WRITERS * SAVES)


def test_processes_that_open_a_new_database_at_once_create_it_once(tmp_path: Path, empty_database: str) -> None:
    script = (
        "import sys\nfrom shoal.store.store import Store\nfor place in sys.argv[1:]:\n"
        "    print('ready', flush=True)\n    sys.stdin.readline()\n    Store.open(place).close()"
    )
    places = (str(tmp_path / "shoal.db"), empty_database)
    processes = [start("-c", script, *places) for _ in range(4)]
    go_on_at_once(processes)
    run_at_once(processes)
    for place in places:
        with Store.open(place) as store, store.read() as db:
            assert db.execute(text("SELECT version_num FROM alembic_version")).all() == [(schema.HEAD,)]


def test_hosts_admitted_at_once_are_all_admitted(store: Store) -> None:
    job_with(store)

    def letting_in(worker: int) -> None:
        for n in range(10):
            admit(store, JOB, [f"{worker}-{n}.test"])

    at_once(letting_in)
    assert len(load_job(store, JOB).admitted) == 30


def test_item_types_saved_at_once_are_all_kept(store: Store) -> None:
    job_with(store)

    def bringing(worker: int) -> None:
        for n in range(10):
            save_item_types(store, JOB, [item_type("Book", {f"f{worker}_{n}": "text"})])

    at_once(bringing)
    (book,) = item_types(store, JOB)
    assert len(book.fields) == 30
