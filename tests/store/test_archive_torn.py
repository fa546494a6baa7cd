"""What is left of an open segment after a kill or a power cut: its whole records, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shoal.store.archive.archive import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.recorder import Recorder
from tests.store.warcs import capture, of_type, read, read_folder

JOB = "j1"


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with closing(Archive(tmp_path)) as archive:
        yield archive


@pytest.fixture
def spool(archive: Archive) -> Path:
    return archive.root / JOB / "00001.warc.gz.open"


@pytest.fixture
def sidecar(archive: Archive) -> Path:
    return archive.root / JOB / "00001.cdxj.open"


def left_open(archive: Archive, *bodies: bytes) -> list[Reference | None]:
    """A run that was killed after it had archived these, one group each."""
    recorder = Recorder(archive, JOB, {"software": "shoal/test"})
    references = [recorder.append([capture(n, body)]).references[0] for n, body in enumerate(bodies)]
    recorder.close()
    return references


def resumed(archive: Archive, body: bytes = b"after") -> Reference | None:
    recorder = Recorder(archive, JOB, {"software": "shoal/test"})
    (at,) = recorder.append([capture(99, body)]).references
    recorder.seal()
    return at


def bodies(archive: Archive, *references: Reference | None) -> list[bytes]:
    return [archive.record(at).http[1] for at in references if at is not None]


def assert_indexed(archive: Archive) -> None:
    lines = (archive.root / JOB / "00001.cdxj").read_text().splitlines()
    assert len(lines) == len(of_type(read_folder(archive.root / JOB), "response", "revisit"))
    assert lines == sorted(set(lines))


def test_the_next_run_goes_on_in_the_segment(archive: Archive, spool: Path) -> None:
    before = left_open(archive, b"one", b"two")
    assert spool.exists()
    after = resumed(archive)
    assert bodies(archive, *before, after) == [b"one", b"two", b"after"]
    assert [record.type for record in read_folder(archive.root / JOB)].count("warcinfo") == 1
    assert archive.segments(JOB) == [f"{JOB}/00001"] and not spool.exists()
    assert_indexed(archive)


@pytest.mark.parametrize("tail", [b"\x1f", b"\x1f\x8b\x08\0garbage", b"\0" * 4096, b"words", bytes(range(256)) * 300])
def test_a_tail_that_is_no_record_is_cut(archive: Archive, spool: Path, tail: bytes) -> None:
    before = left_open(archive, b"one", b"two")
    with spool.open("ab") as file:
        file.write(tail)
    after = resumed(archive)
    assert bodies(archive, *before, after) == [b"one", b"two", b"after"]
    assert_indexed(archive)


def test_a_group_torn_anywhere_leaves_the_groups_before_it_and_its_own_whole_records(
    archive: Archive, spool: Path, sidecar: Path
) -> None:
    before = left_open(archive, b"one", b"two")
    size, indexed = spool.stat().st_size, sidecar.read_bytes()
    left_open(archive, b"three")
    torn = spool.read_bytes()
    for end in range(size, len(torn), 7):
        spool.write_bytes(torn[:end])
        sidecar.write_bytes(indexed)
        assert len(read(b"".join(archive.chunks(JOB)))) in (5, 6)
        after = resumed(archive)
        assert bodies(archive, *before, after) == [b"one", b"two", b"after"]
        assert_indexed(archive)
        archive.close()
        (archive.root / JOB / "00001.warc.gz").unlink()


def test_a_record_that_was_torn_does_not_pass_for_a_body(archive: Archive, spool: Path) -> None:
    left_open(archive, b"one", b"two")
    os.truncate(spool, spool.stat().st_size - 500)
    after = resumed(archive, b"two")
    assert bodies(archive, after) == [b"two"]


@pytest.mark.parametrize(
    "text", [None, b"", b"half a li", b"\0" * 300, b"a 1 {}\n", b'a 1 {"offset": "5", "length": "9"}\n']
)
def test_without_a_whole_index_the_segment_is_read_through(archive: Archive, sidecar: Path, text: bytes | None) -> None:
    before = left_open(archive, b"one", b"two")
    sidecar.unlink() if text is None else sidecar.write_bytes(text)
    after = resumed(archive)
    assert bodies(archive, *before, after) == [b"one", b"two", b"after"]
    assert_indexed(archive)


def test_an_index_with_a_torn_last_line_is_mended(archive: Archive, sidecar: Path) -> None:
    before = left_open(archive, b"one", b"two", b"three")
    os.truncate(sidecar, sidecar.stat().st_size - 20)
    after = resumed(archive)
    assert bodies(archive, *before, after) == [b"one", b"two", b"three", b"after"]
    assert_indexed(archive)


def test_only_what_stands_behind_the_index_is_read(archive: Archive, spool: Path) -> None:
    """Told by a fault in the middle, which a reading of the whole segment would stop at."""
    left_open(archive, b"one", b"two")
    data = bytearray(spool.read_bytes())
    data[400] ^= 0xFF
    spool.write_bytes(data)
    resumed(archive)
    assert (archive.root / JOB / "00001.warc.gz").stat().st_size > len(data)


def test_a_kill_between_index_and_name_leaves_a_segment_to_go_on_with(archive: Archive, sidecar: Path) -> None:
    before = left_open(archive, b"one")
    sidecar.rename(archive.root / JOB / "00001.cdxj")
    after = resumed(archive)
    assert bodies(archive, *before, after) == [b"one", b"after"]
    assert_indexed(archive)


def test_a_run_with_nothing_more_to_archive_seals_what_was_left_open(archive: Archive, spool: Path) -> None:
    before = left_open(archive, b"one")
    Recorder(archive, JOB, {}).seal()
    assert not spool.exists() and bodies(archive, *before) == [b"one"]


def test_what_is_exported_of_an_open_segment_ends_with_a_whole_record(archive: Archive, spool: Path) -> None:
    left_open(archive, b"one", b"two")
    with spool.open("ab") as file:
        file.write(b"\x1f\x8b\x08 half a member")
    records = read(b"".join(archive.chunks(JOB)))
    assert [record.body for record in of_type(records, "response")] == [b"one", b"two"]
