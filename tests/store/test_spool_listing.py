"""Spools are listed and emptied while other processes and threads add and remove files and folders."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from shoal.errors import Unavailable
from shoal.store.archive.archive_folders import Archive, stored_path
from shoal.store.archive.spool_listing import segments_in
from shoal.store.archive.spool_transfer import adopt, remove_if_empty
from shoal.store.archive.stored_files import free_files, note_use, spool_files, store_files
from shoal.store.archive.stored_segments import FolderSegments
from shoal.store.archive.uploader import sizes_of
from shoal.store.store import Store
from tests.store.archiving import JOB, Writing, root_of
from tests.store.warcs import capture


def segment(spools: Path, process: str, job: str) -> Path:
    file = spools / process / job / f"20261115T131606123-{process}-1.warc.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"x" * 100)
    return file


def test_folders_that_are_removed_while_they_are_listed_are_left_out(tmp_path: Path) -> None:
    for process in ("a", "b"):
        for job in ("j1", "j2"):
            segment(tmp_path, process, job)
    sizes, of_one = sizes_of(tmp_path), segments_in(tmp_path / "a", ".warc.gz")
    assert next(sizes) == 100 and next(of_one).is_file()
    for folder in tmp_path.iterdir():
        shutil.rmtree(folder)
    assert list(sizes) == [] and list(of_one) == []
    assert list(sizes_of(tmp_path / "never-made")) == []


@contextmanager
def no_file_can_be_opened() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_folder_that_cannot_be_listed_is_not_removed_as_empty(tmp_path: Path) -> None:
    file = segment(tmp_path, "a", "j1")
    with no_file_can_be_opened(), pytest.raises(Unavailable, match="Too many open files"):
        remove_if_empty(tmp_path / "a")
    remove_if_empty(tmp_path / "a")
    assert file.is_file()
    file.unlink()
    remove_if_empty(tmp_path / "a")
    assert not (tmp_path / "a").exists()


class SpoolsMeanwhile(FolderSegments):
    """As soon as a file is in the archive, it is removed with its job, and another job spools the same file."""

    def __init__(self, store: Store, archive: Archive, folder: Path) -> None:
        super().__init__(root_of(archive))
        self._store, self._archive, self._folder = store, archive, folder

    def take_file(self, path: str, file: Path) -> None:
        super().take_file(path, file)
        free_files(self._store, self._archive, JOB)
        note_use(self._store, "other", {path: 4})
        spool_files(self._folder, {path: b"body"})


def test_a_file_that_is_spooled_again_while_it_is_stored_stays(empty_file: Path, tmp_path: Path) -> None:
    (tmp_path / "shoal.db").write_bytes(empty_file.read_bytes())
    path, folder = stored_path("977c.bin"), tmp_path / "spool" / "a"
    with Store.open(tmp_path / "shoal.db") as store, closing(Archive.at(None, tmp_path)) as archive:
        note_use(store, JOB, {path: 4})
        spool_files(folder, {path: b"body"})
        store_files(store, Archive(SpoolsMeanwhile(store, archive, folder), archive.spools), folder)
        assert archive.file(path) == b"body"
        store_files(store, archive, folder)
        assert archive.stored.read_file(path) == b"body" and not list((folder / "files").iterdir())


class MovesMeanwhile(FolderSegments):
    """Another process stores what is in the spools, right after the archive was listed."""

    def __init__(self, store: Store, archive: Archive) -> None:
        super().__init__(root_of(archive))
        self._store, self._archive = store, archive

    def names(self, job: str) -> list[str]:
        found = super().names(job)
        adopt(self._store, self._archive)
        return found


def test_a_segment_that_moves_to_the_archive_meanwhile_is_listed(empty_file: Path, tmp_path: Path) -> None:
    (tmp_path / "shoal.db").write_bytes(empty_file.read_bytes())
    with Store.open(tmp_path / "shoal.db") as store, closing(Archive.at(None, tmp_path)) as archive:
        dead = Writing(store, archive)
        dead.append([capture(1)])
        dead.die()
        reader = Archive(MovesMeanwhile(store, archive), archive.spools)
        (found,) = reader.segments(JOB)
        assert not any(archive.spools.iterdir()) and archive.stored_bytes(found)
