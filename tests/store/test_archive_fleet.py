"""The archive of a job that several processes on several machines write at once."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select

from shoal.errors import Unavailable
from shoal.model import PageContent
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.lost_segments import forget_pages, give_up, lost_segments
from shoal.store.archive.segment_table import archived_bytes, require_segment, require_segments, save_segment
from shoal.store.archive.spool_transfer import adopt
from shoal.store.archive.spools import ON_A_FLEET, REPORT_EVERY_S, SealLimits
from shoal.store.archive.stored_segments import FolderSegments
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.items import save_item_types
from shoal.store.store import Store
from shoal.store.tables import contents, items, pages
from tests.store.archiving import JOB, Writing, body_at, kept, root_of, segments_of
from tests.store.archiving_process import GROUPS, PAGES_AT_ONCE, body_of
from tests.store.make import item_record, item_type, job_with, page
from tests.store.warcs import capture, of_type, read_folder

ROOT = Path(__file__).parents[2]
IMPATIENT = SealLimits(60.0, 5_000)
MEMORY = Path("/dev/shm")


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def elsewhere(archive: Archive, tmp_path: Path) -> Archive:
    """The same archive, seen from another machine."""
    return Archive(archive.stored, tmp_path / "other home" / "spool")


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.archiving_process", *arguments]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)


def assert_whole(store: Store, archive: Archive) -> int:
    """Checks that every page has its body and that all segments are in the archive; returns the number of pages."""
    with store.read() as db:
        rows = db.execute(select(pages.c.fingerprint, pages.c.archive)).all()
    for fingerprint, reference in rows:
        assert body_at(archive, Reference.parse(reference)) == body_of(fingerprint)
    assert {row.state for row in segments_of(store)} <= {"stored"}
    assert {row.name for row in segments_of(store)} == set(archive.segments(JOB))
    assert not list(archive.spools.glob("*"))
    return len(rows)


def test_every_row_finds_its_body_after_processes_of_one_job_were_killed(
    store: Store, place: Path | str, archive: Archive, tmp_path: Path
) -> None:
    job_with(store)
    processes = [started("write", str(place), str(tmp_path), str(number)) for number in range(3)]
    said = 0
    try:
        for process in processes:
            assert process.stdout is not None
            lines = iter(process.stdout.readline, "")
            told = [int(next(lines)) for _ in range(40)]
            # It seals by the clock, so it may have written more than 40 groups.
            while not any((root_of(archive) / JOB).glob(f"*-{process.pid}-*.warc.gz")):
                told.append(int(next(lines)))
            said += told[-1]
            # While it lives, no other process takes its spool.
            assert adopt(store, archive) == []
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert len(adopt(store, archive)) == 3
    assert assert_whole(store, archive) >= said
    answers = of_type(read_folder(root_of(archive) / JOB), "response", "revisit")
    with store.read() as db:
        assert {record.url for record in answers} >= set(db.execute(select(pages.c.url)).scalars())
    names = [segment.partition("/")[2] for segment in archive.segments(JOB)]
    assert len(names) > 3 and len({name.split("-")[2] for name in names}) == 3


@pytest.mark.parametrize("on_another_disk", [False, True])
def test_a_kill_between_any_two_steps_loses_nothing(tmp_path: Path, on_another_disk: bool) -> None:
    if on_another_disk and (not MEMORY.is_dir() or MEMORY.stat().st_dev == tmp_path.stat().st_dev):
        pytest.skip("there is no second disk here")
    with tempfile.TemporaryDirectory(dir=MEMORY if on_another_disk else tmp_path) as archives:
        homes = tmp_path / "homes"
        homes.mkdir()
        started("anywhere", str(homes), f"file://{archives}").communicate(timeout=180)
        steps = len(list(homes.iterdir()))
        assert steps > 20
        saved = [_after_the_kill(homes / str(step), Path(archives) / str(step)) for step in range(1, steps + 1)]
    assert saved == sorted(saved) and saved[0] == 0 and saved[-1] == GROUPS * PAGES_AT_ONCE


def _after_the_kill(home: Path, root: Path) -> int:
    with Store.open(home / "shoal.db") as store, closing(Archive(FolderSegments(root), home / "spool")) as archive:
        adopt(store, archive)
        assert not list(root.glob("*/*.part"))
        read_folder(root / JOB)
        return assert_whole(store, archive)


class TestSealing:
    def test_a_segment_is_sealed_by_age_without_an_append(self, store: Store, archive: Archive, clock: Clock) -> None:
        writing = Writing(store, archive, sealing=ON_A_FLEET, clock=clock)
        writing.append([capture(1)])
        clock.now += 59
        writing.spools.seal_due(store)
        assert [row.state for row in segments_of(store)] == ["open"]
        clock.now += 1
        writing.spools.seal_due(store)
        writing.append([capture(2)])
        assert [row.state for row in segments_of(store)] == ["stored", "open"]
        assert len(read_folder(root_of(archive) / JOB)) == 3
        writing.end()
        assert [row.state for row in segments_of(store)] == ["stored", "stored"]
        assert not list(archive.spools.iterdir())

    def test_segments_wait_up_to_a_limit_for_the_archive_and_then_move_on(
        self, store: Store, archive: Archive, clock: Clock
    ) -> None:
        root_of(archive).touch()
        writing = Writing(store, archive, sealing=IMPATIENT, clock=clock)
        references = []
        with pytest.raises(Unavailable, match=f"cannot write the archive: {root_of(archive)}"):
            for n in range(100):
                references += writing.append([capture(n, os.urandom(500))]).references
                clock.now += 60
        assert 2 < len(references) < 8
        assert writing.spools.transfer_error is not None
        assert all(body_at(archive, at) for at in references)
        with pytest.raises(Unavailable):
            writing.append([capture(200)])
        root_of(archive).unlink()
        references += writing.append([capture(201, b"after")]).references
        assert writing.spools.transfer_error is None
        writing.end()
        assert {row.state for row in segments_of(store)} == {"stored"}
        assert body_at(archive, references[-1]) == b"after"
        assert len(of_type(read_folder(root_of(archive) / JOB), "response")) == len(references)

    def test_another_process_adopts_segments_that_could_not_be_stored(self, store: Store, archive: Archive) -> None:
        root_of(archive).touch()
        writing = Writing(store, archive)
        (at,) = writing.append([capture(1, b"words")]).references
        with pytest.raises(Unavailable):
            writing.end()
        writing.die()
        with pytest.raises(Unavailable):
            adopt(store, archive)
        root_of(archive).unlink()
        assert adopt(store, archive) == [writing.spools.process]
        assert body_at(archive, at) == b"words"

    def test_a_limit_covers_all_processes_as_of_their_last_report(
        self, store: Store, archive: Archive, clock: Clock
    ) -> None:
        both = [Writing(store, archive, sealing=ON_A_FLEET, clock=clock) for _ in range(2)]
        for writing in both:
            writing.begin(max_bytes=20_000)
        for n in range(40):
            for writing in both:
                writing.append([capture(n, os.urandom(700))])
            clock.now += REPORT_EVERY_S
        for writing in both:
            writing.end()
        assert 15_000 < archived_bytes(store, JOB) < 24_000


class TestReading:
    def test_an_open_segment_is_readable_on_its_machine_and_named_on_others(
        self, store: Store, archive: Archive, tmp_path: Path
    ) -> None:
        writing = Writing(store, archive, machine="left.example")
        (at,) = writing.append([capture(1, b"words")]).references
        assert at is not None
        require_segments(store, archive, JOB)
        assert body_at(archive, at) == b"words"
        there = elsewhere(archive, tmp_path)
        with pytest.raises(Unavailable, match=r"still on left\.example"):
            require_segment(store, there, at.segment)
        with pytest.raises(Unavailable, match=r"still on left\.example"):
            require_segments(store, there, JOB)
        writing.end()
        require_segment(store, there, at.segment)
        require_segments(store, there, JOB)
        assert body_at(there, at) == b"words"
        there.close()

    def test_names_sort_by_time_over_machines(self, store: Store, archive: Archive, clock: Clock) -> None:
        machines = ("zebra", "ant", "A long. name/of a machine: that goes on and on")
        order = []
        for machine in machines:
            writing = Writing(store, archive, machine=machine, clock=clock)
            order += writing.append([capture(1)]).references
            writing.end()
            clock.now += 0.001
        assert [at.segment for at in order if at] == archive.segments(JOB)


class TestLost:
    def saved(self, store: Store, archive: Archive, machine: str, *numbers: int) -> Writing:
        writing = Writing(store, archive, machine=machine)
        references = writing.append([capture(n) for n in numbers]).references
        found = [item_record("Book", {"n": 1})]
        rows = [
            page(n, archive=str(at), items=found, content=PageContent(None, None, "words", []))
            for n, at in zip(numbers, references, strict=True)
        ]
        save_item_types(store, JOB, [item_type("Book", {"n": "int"})])
        save(store, Batch(JOB, rows))
        return writing

    def test_pages_of_a_lost_machine_are_forgotten_so_that_they_are_fetched_again(
        self, store: Store, archive: Archive
    ) -> None:
        job_with(store)
        self.saved(store, archive, "gone", 1, 2, 3).die()
        self.saved(store, archive, "here", 4).die()
        later = time.time() + 10
        assert lost_segments(store, archive, {"here", "gone"}, later) == []
        assert lost_segments(store, archive, {"here"}, time.time() - 10) == []
        (segment,) = lost_segments(store, archive, {"here"}, later)
        # Meanwhile one of them has been fetched again.
        save(store, Batch(JOB, [page(2, token=9, items=[item_record("Book", {"n": 2})])]))
        assert forget_pages(store, segment) == 2
        give_up(store, segment)
        with store.read() as db:
            assert set(db.execute(select(pages.c.fingerprint)).scalars()) == {2, 4}
            assert set(db.execute(select(items.c.page)).scalars()) == {2, 4}
            assert set(db.execute(select(contents.c.fingerprint)).scalars()) == {4}
        assert lost_segments(store, archive, {"here"}, later) == []

    def test_an_ended_job_keeps_its_rows_without_their_bodies(
        self, store: Store, archive: Archive, tmp_path: Path
    ) -> None:
        job_with(store)
        self.saved(store, archive, "gone", 1, 2).die()
        (segment,) = lost_segments(store, archive, (), time.time() + 10)
        give_up(store, segment)
        with store.read() as db:
            assert db.execute(select(pages.c.archive)).scalars().all() == [None, None]
        there = elsewhere(archive, tmp_path)
        with pytest.raises(Unavailable, match="are lost, because machine gone never came back"):
            require_segment(store, there, segment.name)
        require_segments(store, there, JOB)

    def test_a_segment_in_the_archive_is_not_lost_whatever_its_row_says(self, store: Store, archive: Archive) -> None:
        job_with(store)
        writing = self.saved(store, archive, "gone", 1)
        (open_one,) = segments_of(store)
        writing.end()
        save_segment(store, open_one)
        assert lost_segments(store, archive, (), time.time() + 10) == []
        assert [row.state for row in segments_of(store)] == ["stored"]


def test_a_process_that_wrote_nothing_leaves_nothing(store: Store, archive: Archive) -> None:
    writing = Writing(store, archive)
    writing.end()
    kept(store, archive, capture(1), max_bytes=10)
    assert segments_of(store) == [] and not root_of(archive).exists()
    assert list(archive.spools.glob("*")) == []
