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
from shoal.model import ItemType, PageContent
from shoal.store.archive.archive import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.lost import forget_pages, give_up, lost_segments
from shoal.store.archive.segments import archived_bytes, require_segment, require_segments, save_segment
from shoal.store.archive.sending import adopt
from shoal.store.archive.spools import ON_A_FLEET, TELL_EVERY_S, Sealing
from shoal.store.batch import Batch, save
from shoal.store.items import save_item_types
from shoal.store.store import Store
from shoal.store.tables import contents, items, pages
from tests.store.archiving import JOB, Writing, body_at, kept, segments_of
from tests.store.archiving_process import GROUPS, PAGES_AT_ONCE, body_of
from tests.store.make import item_record, job_with, page
from tests.store.warcs import capture, of_type, read_folder

ROOT = Path(__file__).parents[2]
IMPATIENT = Sealing(60.0, 5_000)
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
    return Archive(archive.root, tmp_path / "other home" / "spool")


def started(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.store.archiving_process", *arguments]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)


def assert_whole(store: Store, archive: Archive) -> int:
    """Every page leads to its body, every segment is in the archive, none is left in a spool; says how many pages."""
    with store.read() as db:
        rows = db.execute(select(pages.c.fingerprint, pages.c.archive)).all()
    for fingerprint, reference in rows:
        assert body_at(archive, Reference.parse(reference)) == body_of(fingerprint)
    assert {row.state for row in segments_of(store)} <= {"stored"}
    assert {row.name for row in segments_of(store)} == set(archive.segments(JOB))
    assert not list(archive.spools.glob("*"))
    return len(rows)


def test_processes_that_write_one_job_and_are_killed_leave_an_archive_that_every_row_can_rely_on(
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
            # It seals by the clock, which may be behind 40 groups.
            while not any((archive.root / JOB).glob(f"*-{process.pid}-*.warc.gz")):
                told.append(int(next(lines)))
            said += told[-1]
            # While it lives, nobody takes its spool away.
            assert adopt(store, archive) == []
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert len(adopt(store, archive)) == 3
    assert assert_whole(store, archive) >= said
    answers = of_type(read_folder(archive.root / JOB), "response")
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
        started("anywhere", str(homes), archives).communicate(timeout=60)
        steps = len(list(homes.iterdir()))
        assert steps > 20
        saved = [_after_the_kill(homes / str(step), Path(archives) / str(step)) for step in range(1, steps + 1)]
    assert saved == sorted(saved) and saved[0] == 0 and saved[-1] == GROUPS * PAGES_AT_ONCE


def _after_the_kill(home: Path, root: Path) -> int:
    with Store.open(home / "shoal.db") as store, closing(Archive(root, home / "spool")) as archive:
        adopt(store, archive)
        assert not list(root.glob("*/*.part"))
        read_folder(root / JOB)
        return assert_whole(store, archive)


class TestSealing:
    def test_a_segment_is_sealed_by_its_age_though_nothing_is_appended(
        self, store: Store, archive: Archive, clock: Clock
    ) -> None:
        writing = Writing(store, archive, sealing=ON_A_FLEET, clock=clock)
        writing.append([capture(1)])
        clock.now += 59
        writing.spools.tend(store)
        assert [row.state for row in segments_of(store)] == ["open"]
        clock.now += 1
        writing.spools.tend(store)
        writing.append([capture(2)])
        assert [row.state for row in segments_of(store)] == ["stored", "open"]
        assert len(read_folder(archive.root / JOB)) == 3
        writing.end()
        assert [row.state for row in segments_of(store)] == ["stored", "stored"]
        assert not list(archive.spools.iterdir())

    def test_what_the_archive_does_not_take_waits_up_to_a_bound_and_goes_on_by_itself(
        self, store: Store, archive: Archive, clock: Clock
    ) -> None:
        archive.root.touch()
        writing = Writing(store, archive, sealing=IMPATIENT, clock=clock)
        references = []
        with pytest.raises(Unavailable, match=f"archive cannot be written: {archive.root}"):
            for n in range(100):
                references += writing.append([capture(n, os.urandom(500))]).references
                clock.now += 60
        assert 2 < len(references) < 8
        assert writing.spools.trouble is not None
        assert all(body_at(archive, at) for at in references)
        with pytest.raises(Unavailable):
            writing.append([capture(200)])
        archive.root.unlink()
        references += writing.append([capture(201, b"after")]).references
        assert writing.spools.trouble is None
        writing.end()
        assert {row.state for row in segments_of(store)} == {"stored"}
        assert body_at(archive, references[-1]) == b"after"
        assert len(of_type(read_folder(archive.root / JOB), "response")) == len(references)

    def test_what_could_not_be_stored_when_a_process_ended_is_adopted(self, store: Store, archive: Archive) -> None:
        archive.root.touch()
        writing = Writing(store, archive)
        (at,) = writing.append([capture(1, b"words")]).references
        with pytest.raises(Unavailable):
            writing.end()
        writing.die()
        with pytest.raises(Unavailable):
            adopt(store, archive)
        archive.root.unlink()
        assert adopt(store, archive) == [writing.spools.process]
        assert body_at(archive, at) == b"words"

    def test_a_limit_holds_over_processes_as_of_when_they_last_told(
        self, store: Store, archive: Archive, clock: Clock
    ) -> None:
        both = [Writing(store, archive, sealing=ON_A_FLEET, clock=clock) for _ in range(2)]
        for writing in both:
            writing.begin(max_bytes=20_000)
        for n in range(40):
            for writing in both:
                writing.append([capture(n, os.urandom(700))])
            clock.now += TELL_EVERY_S
        for writing in both:
            writing.end()
        assert 15_000 < archived_bytes(store, JOB) < 24_000


class TestReading:
    def test_an_open_segment_can_be_read_on_its_machine_and_is_told_of_on_others(
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
        save_item_types(store, JOB, [ItemType("Book", {"n": "int"})])
        save(store, Batch(JOB, rows))
        return writing

    def test_pages_of_a_machine_that_never_came_back_are_forgotten_to_be_asked_for_anew(
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

    def test_of_a_job_that_has_ended_the_rows_stay_without_their_bodies(
        self, store: Store, archive: Archive, tmp_path: Path
    ) -> None:
        job_with(store)
        self.saved(store, archive, "gone", 1, 2).die()
        (segment,) = lost_segments(store, archive, (), time.time() + 10)
        give_up(store, segment)
        with store.read() as db:
            assert db.execute(select(pages.c.archive)).scalars().all() == [None, None]
        there = elsewhere(archive, tmp_path)
        with pytest.raises(Unavailable, match="is lost: gone, which held it"):
            require_segment(store, there, segment.name)
        require_segments(store, there, JOB)

    def test_a_segment_that_is_in_the_archive_is_not_lost_whatever_was_written_down(
        self, store: Store, archive: Archive
    ) -> None:
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
    assert segments_of(store) == [] and not archive.root.exists()
    assert list(archive.spools.glob("*")) == []
