"""The archive in a bucket that is slow, fails, and is away for a while."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from shoal.errors import ObjectStoreAway, ObjectStoreRefused, Unavailable
from shoal.store.archive.archive_folders import Archive, stored_path
from shoal.store.archive.capture import Reference
from shoal.store.archive.segment_table import require_segment
from shoal.store.archive.spool_transfer import adopt
from shoal.store.archive.spools import ON_A_FLEET
from shoal.store.archive.stored_files import free_files
from shoal.store.job_removal import remove_job
from shoal.store.jobs import load_job
from shoal.store.store import Store
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.s3_server import S3Server
from tests.store.archiving import JOB, Writing, body_at, segments_of
from tests.store.archiving_process import GROUPS, PAGES_AT_ONCE
from tests.store.make import job_with
from tests.store.test_archive_fleet import ROOT, assert_whole
from tests.store.warcs import capture, of_type, read

WITHIN_S = 60.0


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(s3.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


@pytest.fixture
def url(s3: S3Server) -> str:
    return f"s3://{s3.new_bucket()}/crawls"


@pytest.fixture
def store(empty_file: Path, tmp_path: Path) -> Iterator[Store]:
    """On SQLite only: the database has no part in this."""
    (tmp_path / "shoal.db").write_bytes(empty_file.read_bytes())
    with Store.open(tmp_path / "shoal.db") as store:
        yield store


@pytest.fixture
def archive(url: str, tmp_path: Path) -> Iterator[Archive]:
    with closing(Archive.at(url, tmp_path)) as archive:
        yield archive


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def seal(writing: Writing) -> None:
    """As a crawl does at its end."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            return writing.seal()
        except ObjectStoreAway:
            assert time.monotonic() < deadline


def test_a_sealed_segment_is_in_the_bucket_and_read_by_range(
    store: Store, archive: Archive, proxy: FaultProxy, tmp_path: Path
) -> None:
    writing = Writing(store, archive)
    bodies = {n: os.urandom(2_000) for n in range(40)}
    references = writing.append([capture(n, body) for n, body in bodies.items()]).references
    assert body_at(archive, references[3]) == bodies[3], "it is read from the spool"
    seal(writing)
    writing.spools.close()
    archive.close()
    assert [row.state for row in segments_of(store)] == ["stored"] and not list(archive.spools.iterdir())
    elsewhere = Archive(archive.stored, tmp_path / "other" / "spool")
    with closing(elsewhere):
        proxy.asked.clear()
        for n, reference in enumerate(references):
            assert body_at(elsewhere, reference) == bodies[n]
        assert proxy.asked["GET"] == 2, "one record, and ahead from the second on"
        assert len(of_type(read(b"".join(elsewhere.chunks(JOB))), "response")) == len(bodies)
        (segment,) = elsewhere.segments(JOB)
        require_segment(store, elsewhere, segment)
    keys = [found.key.partition(".")[2] for found in archive.stored.objects.list(JOB)]  # type: ignore[attr-defined]
    assert keys == ["cdxj", "warc.gz"]


def test_a_bucket_that_is_away_delays_no_page_until_the_spool_is_full(
    store: Store, url: str, proxy: FaultProxy, tmp_path: Path
) -> None:
    archive = Archive.at(url, tmp_path, spool_bytes=40_000)
    proxy.fail(Fault(503))
    writing = Writing(store, archive, sealing=ON_A_FLEET)
    references: list[Reference | None] = []
    with pytest.raises(ObjectStoreAway, match=f"wait for {url}"):
        for n in range(100):
            references += writing.append([capture(n, os.urandom(2_000))]).references
    assert len(references) > 15 and archive.stored.url in str(until_note(writing))
    with pytest.raises(ObjectStoreAway, match="503"):
        writing.append([capture(100)])
    size = sum(file.stat().st_size for file in archive.spools.rglob("*.warc.gz"))
    assert 40_000 < size < 60_000
    proxy.mend()
    until(lambda: _appended(writing))
    seal(writing)
    assert writing.spools.note is None
    writing.spools.close()
    assert {row.state for row in segments_of(store)} == {"stored"}
    assert all(body_at(archive, reference) for reference in references)


def test_a_segment_is_reported_before_it_can_be_uploaded(store: Store, archive: Archive) -> None:
    """Otherwise the row of an uploaded segment could be open again, and the segment be taken for lost."""
    sealed_then: list[bool] = []

    def clock() -> float:
        # Read when a row is written.
        sealed_then.append(any(archive.spools.rglob("*.warc.gz")))
        return time.time()

    writing = Writing(store, archive, clock=clock)
    for n in range(2):
        writing.append([capture(n)])
    sealed_then.clear()
    seal(writing)
    writing.spools.close()
    assert sealed_then == [False]


def until_note(writing: Writing) -> str:
    until(lambda: writing.spools.note is not None)
    return writing.spools.note or ""


def _appended(writing: Writing) -> bool:
    try:
        writing.append([capture(200)])
    except ObjectStoreAway:
        return False
    return True


def test_a_slow_bucket_delays_no_page(store: Store, archive: Archive, proxy: FaultProxy) -> None:
    let_go = threading.Event()
    proxy.fail(Fault(holds=let_go), "PUT")
    writing = Writing(store, archive)
    for n in range(5):
        writing.append([capture(n, os.urandom(1_000))])
        writing.spools.seal(store, JOB)
    assert [row.state for row in segments_of(store)] == ["open"] * 5
    with pytest.raises(ObjectStoreAway, match="1 MB wait for s3://"):
        writing.seal()
    let_go.set()
    seal(writing)
    writing.spools.close()
    assert [row.state for row in segments_of(store)] == ["stored"] * 5


@pytest.mark.parametrize(
    "fault", [Fault(resets=True), Fault(resets=True, passes=True), Fault(damages=True), Fault(503)]
)
def test_nothing_is_stored_before_the_bucket_has_it_whole(
    store: Store, archive: Archive, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.fail(fault, "PUT")
    writing = Writing(store, archive)
    (reference,) = writing.append([capture(1, b"body")]).references
    with pytest.raises(ObjectStoreAway):
        writing.seal()
    assert [row.state for row in segments_of(store)] == ["open"]
    assert list(archive.spools.rglob("*.warc.gz")) and body_at(archive, reference) == b"body"
    proxy.mend()
    seal(writing)
    writing.end()
    assert [row.state for row in segments_of(store)] == ["stored"]
    archive.close()
    assert body_at(archive, reference) == b"body"


def test_a_kill_between_any_two_steps_loses_nothing(s3: S3Server, url: str, tmp_path: Path) -> None:
    homes = tmp_path / "homes"
    homes.mkdir()
    command = [sys.executable, "-m", "tests.store.archiving_process", "anywhere", str(homes), url]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120)
    steps = len(list(homes.iterdir()))
    assert steps > 20
    saved = [_after_the_kill(homes / str(step), f"{url}/{step}") for step in range(1, steps + 1)]
    assert saved[0] == 0 and saved[-1] == GROUPS * PAGES_AT_ONCE


def _after_the_kill(home: Path, url: str) -> int:
    with Store.open(home / "shoal.db") as store, closing(Archive.at(url, home)) as archive:
        adopt(store, archive)
        read(b"".join(archive.chunks(JOB)))
        return assert_whole(store, archive)


def test_what_a_dead_process_left_is_uploaded_by_another(store: Store, archive: Archive, proxy: FaultProxy) -> None:
    proxy.fail(Fault(503), "PUT")
    dead = Writing(store, archive)
    (reference,) = dead.append([capture(1, b"body")]).references
    dead.die()
    proxy.mend()
    writing = Writing(store, archive)
    writing.spools.adopt(store)
    seal(writing)
    assert [row.state for row in segments_of(store)] == ["stored"] and not list(archive.spools.iterdir())
    archive.close()
    assert body_at(archive, reference) == b"body"


def test_a_refusal_is_not_waited_for(store: Store, archive: Archive, proxy: FaultProxy) -> None:
    proxy.fail(Fault(403))
    writing = Writing(store, archive)
    with pytest.raises(ObjectStoreRefused, match="refuses access"):
        writing.spools.check()
    writing.append([capture(1)])
    until(lambda: _refused(writing))
    proxy.fail(Fault(503))
    writing.spools.check()
    writing.die()


def _refused(writing: Writing) -> bool:
    try:
        writing.seal()
    except ObjectStoreRefused:
        return True
    except Unavailable:
        return False
    return False


def test_files_are_in_the_bucket_before_the_segment_that_refers_to_them(
    store: Store, archive: Archive, proxy: FaultProxy
) -> None:
    bodies = [os.urandom(5_000) for _ in range(20)]
    writing = Writing(store, archive)
    captures = [capture(n, body, file=stored_path(sha256(body).hexdigest())) for n, body in enumerate(bodies)]
    references = writing.append(captures).references
    proxy.fail(Fault(503), "PUT")
    with pytest.raises(ObjectStoreAway):
        writing.seal()
    assert not archive.stored.names(JOB)
    assert [body_at(archive, reference) for reference in references] == bodies, "from the spool"
    proxy.mend()
    seal(writing)
    writing.spools.close()
    archive.close()
    assert not list(archive.spools.iterdir())
    assert [body_at(archive, reference) for reference in references] == bodies
    proxy.asked.clear()
    assert free_files(store, archive, JOB) == (20, 100_000)
    assert proxy.asked["POST"] == 1 and archive.file_bytes(captures[0].file or "") is None


def test_a_304_keeps_its_reference_while_the_bucket_is_away(store: Store, archive: Archive, proxy: FaultProxy) -> None:
    earlier = Writing(store, archive)
    (reference,) = earlier.append([capture(1, b"body")]).references
    seal(earlier)
    earlier.spools.close()
    archive.close()
    writing = Writing(store, archive)
    unchanged = capture(1, b"", status=304, body_at=str(reference))
    proxy.fail(Fault(503), "GET", "HEAD")
    with pytest.raises(ObjectStoreAway):
        writing.append([unchanged])
    proxy.mend()
    assert writing.append([unchanged]).references == [reference]
    writing.die()


def test_a_deleted_job_leaves_nothing_in_the_bucket(store: Store, archive: Archive, proxy: FaultProxy) -> None:
    job_with(store)
    writing = Writing(store, archive)
    writing.append([capture(1)])
    writing.append([capture(1)], "other")
    seal(writing)
    writing.spools.close()
    remove_job(store, archive, load_job(store, JOB))
    assert archive.segments(JOB) == [] and len(archive.segments("other")) == 1
    assert [row.job for row in segments_of(store)] == ["other"]
