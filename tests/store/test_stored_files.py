"""Files of items: each content is in the archive once, however many jobs and processes fetch it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Capture
from shoal.store.archive.segment_table import archived_bytes
from shoal.store.archive.spool_transfer import adopt
from shoal.store.archive.stored_files import free_files
from shoal.store.job_removal import remove_job
from shoal.store.jobs import load_job
from shoal.store.store import Store
from shoal.store.tables import stored_files
from tests.store.archiving import JOB, Writing, body_at, kept, root_of
from tests.store.make import job_with
from tests.store.warcs import capture, of_type, read

PNG = b"\x89PNG\r\n" + bytes(range(256)) * 120
OTHER = "j2"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with closing(Archive.at(None, tmp_path)) as archive:
        yield archive


def path_of(body: bytes) -> str:
    name = hashlib.sha256(body).hexdigest()
    return f"{name[:2]}/{name}.png"


def image(n: int, body: bytes = PNG, **more: Any) -> Capture:
    return capture(n, body, **{"content_type": "image/png", "file": path_of(body), **more})


def stored(archive: Archive) -> list[str]:
    root = root_of(archive) / "files"
    return sorted(file.relative_to(root).as_posix() for file in root.rglob("*.*"))


def uses(store: Store) -> set[tuple[str, str]]:
    with store.read() as db:
        return {(row.job, row.path) for row in db.execute(select(stored_files))}


def test_one_content_is_stored_once_for_all_jobs_and_processes(store: Store, archive: Archive) -> None:
    first = kept(store, archive, image(1), image(2), capture(3)).references
    second = kept(store, archive, image(4), job=OTHER).references
    third = kept(store, archive, image(5)).references
    assert stored(archive) == [path_of(PNG)]
    assert (root_of(archive) / "files" / path_of(PNG)).read_bytes() == PNG
    assert all(body_at(archive, reference) == PNG for reference in (*first[:2], *second, *third))
    assert len(PNG) < archived_bytes(store, JOB) < 2 * len(PNG), "segments do not have it"
    assert not list(archive.spools.iterdir())


def test_a_file_is_read_from_the_spool_until_it_is_stored(store: Store, archive: Archive) -> None:
    writing = Writing(store, archive)
    (reference,) = writing.append([image(1)]).references
    assert not stored(archive) and body_at(archive, reference) == PNG
    writing.die()
    assert body_at(archive, reference) == PNG
    adopt(store, archive)
    archive.close()
    assert stored(archive) == [path_of(PNG)] and body_at(archive, reference) == PNG


def test_a_removed_job_leaves_the_files_of_others(store: Store, archive: Archive) -> None:
    for job in (JOB, OTHER):
        job_with(store, id=job)
    mine = PNG + b"mine"
    kept(store, archive, image(1), image(2, mine))
    (reference,) = kept(store, archive, image(1), job=OTHER).references
    remove_job(store, archive, load_job(store, JOB))
    assert stored(archive) == [path_of(PNG)] and body_at(archive, reference) == PNG
    assert uses(store) == {(OTHER, path_of(PNG))}
    remove_job(store, archive, load_job(store, OTHER))
    assert not stored(archive) and not uses(store)


def test_removal_says_how_much_it_frees(store: Store, archive: Archive) -> None:
    bodies = [PNG + str(n).encode() for n in range(450)]
    kept(store, archive, *(image(n, body) for n, body in enumerate(bodies)))
    kept(store, archive, image(1, bodies[7]), job=OTHER)
    assert free_files(store, archive, JOB) == (449, sum(map(len, bodies)) - len(bodies[7]))
    assert stored(archive) == [path_of(bodies[7])]


def test_files_of_a_job_that_was_removed_meanwhile_are_not_stored(store: Store, archive: Archive) -> None:
    job_with(store)
    writing = Writing(store, archive)
    writing.append([image(1)])
    remove_job(store, archive, load_job(store, JOB))
    writing.end()
    assert not stored(archive)


def test_a_file_that_was_gone_is_stored_again(store: Store, archive: Archive) -> None:
    """Another job had it, and was removed while this one ran."""
    writing = Writing(store, archive)
    kept(store, archive, image(1), job=OTHER)
    writing.append([image(2)])
    free_files(store, archive, OTHER)
    writing.end()
    assert stored(archive) == [path_of(PNG)]


def test_an_exported_archive_has_each_file_once_and_whole(store: Store, archive: Archive) -> None:
    gone = capture(9, b"gone", status=404, content_type="image/png")
    references = kept(store, archive, image(1), image(2), capture(3), gone, image(4, b"another")).references
    filed = [reference for reference in references if reference is not None]
    records = read(b"".join(archive.chunks(JOB, filed)))
    responses = {one.url: one.body for one in of_type(records, "response")}
    assert responses["https://site.test/1"] == PNG and responses["https://site.test/4"] == b"another"
    assert [one.url for one in of_type(records, "revisit")] == ["https://site.test/2"]
    assert len(of_type(records, "request")) == 5 and responses["https://site.test/9"] == b"gone"


def test_a_content_coding_is_undone(store: Store, archive: Archive) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Encoding: gzip\r\nContent-Length: 70\r\n\r\n"
    (reference,) = kept(store, archive, image(1, head=head)).references
    assert reference is not None
    lines = archive.record(reference).http[0].split(b"\r\n")
    assert b"X-Crawler-Content-Encoding: gzip" in lines and b"Content-Length: %d" % len(PNG) in lines


def test_an_unchanged_file_stays_when_the_job_that_brought_it_is_removed(store: Store, archive: Archive) -> None:
    job_with(store)
    (earlier,) = kept(store, archive, image(1)).references
    unchanged = capture(1, b"", status=304, body_at=str(earlier))
    (reference,) = kept(store, archive, unchanged, job=OTHER).references
    remove_job(store, archive, load_job(store, JOB))
    assert reference is not None and reference.segment.startswith(OTHER) and body_at(archive, reference) == PNG
    again = capture(1, b"", status=304, body_at=str(reference))
    (third,) = kept(store, archive, again, job="j3").references
    assert body_at(archive, third) == PNG


def test_files_count_for_the_limit_of_the_archive(store: Store, archive: Archive) -> None:
    bodies = [PNG + str(n).encode() for n in range(5)]
    group = kept(store, archive, *(image(n, body) for n, body in enumerate(bodies)), max_bytes=3 * len(PNG))
    assert group.left_out == 3 and len(stored(archive)) == 2
    assert archived_bytes(store, JOB) <= 3 * len(PNG)
