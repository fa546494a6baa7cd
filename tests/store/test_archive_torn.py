"""After a kill or a power cut, an open segment keeps its complete records and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.cdxj_index import record_span
from shoal.store.archive.segment_table import archived_bytes
from shoal.store.archive.spool import Spool
from shoal.store.archive.spool_transfer import adopt
from shoal.store.store import Store
from tests.store.archiving import JOB, Writing, only_segment, root_of, segments_of
from tests.store.warcs import capture, of_type, read, read_folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """SQLite only: both databases behave the same here."""
    return tmp_path / "shoal.db"


@dataclass
class Killed:
    """A process that was killed after it had archived some bodies, one group each."""

    store: Store
    archive: Archive
    writing: Writing
    references: list[Reference | None]

    @property
    def spool(self) -> Path:
        (path,) = self.archive.spools.glob(f"*/{JOB}/*.warc.gz.open")
        return path

    @property
    def sidecar(self) -> Path:
        return self.spool.with_name(self.spool.name.replace(".warc.gz", ".cdxj"))

    @property
    def bodies(self) -> list[bytes]:
        return [self.archive.record(at).http[1] for at in self.references if at is not None]

    def adopted(self) -> None:
        assert adopt(self.store, self.archive) == [self.writing.spools.process]
        assert list(self.archive.spools.iterdir()) == []
        stored = root_of(self.archive) / f"{only_segment(self.archive)}.warc.gz"
        assert [row.state for row in segments_of(self.store)] == ["stored"]
        assert archived_bytes(self.store, JOB) == stored.stat().st_size


@pytest.fixture
def killed(store: Store, archive: Archive) -> Killed:
    return killed_after(store, archive, b"one", b"two")


def killed_after(store: Store, archive: Archive, *bodies: bytes) -> Killed:
    writing = Writing(store, archive)
    references = [writing.append([capture(n, body)]).references[0] for n, body in enumerate(bodies)]
    writing.die()
    return Killed(store, archive, writing, references)


def assert_indexed(archive: Archive) -> None:
    lines = (root_of(archive) / f"{only_segment(archive)}.cdxj").read_text().splitlines()
    assert len(lines) == len(of_type(read_folder(root_of(archive) / JOB), "response", "revisit"))
    assert lines == sorted(set(lines))


def test_the_spool_of_a_killed_process_is_sealed_and_stored(killed: Killed) -> None:
    assert killed.bodies == [b"one", b"two"]
    killed.adopted()
    assert killed.bodies == [b"one", b"two"]
    assert_indexed(killed.archive)


@pytest.mark.parametrize("tail", [b"\x1f", b"\x1f\x8b\x08\0garbage", b"\0" * 4096, b"words", bytes(range(256)) * 300])
def test_bytes_after_the_last_record_are_cut(killed: Killed, tail: bytes) -> None:
    with killed.spool.open("ab") as file:
        file.write(tail)
    killed.adopted()
    assert killed.bodies == [b"one", b"two"]
    assert_indexed(killed.archive)


def test_a_torn_group_keeps_its_complete_records_and_all_earlier_groups(store: Store, archive: Archive) -> None:
    killed = killed_after(store, archive, b"one", b"two", b"three")
    spool, sidecar, torn = killed.spool, killed.sidecar, killed.spool.read_bytes()
    lines = sidecar.read_bytes().splitlines(keepends=True)
    third = record_span(lines[2])
    assert third is not None
    killed.references.pop()
    for end in range(third[0], len(torn), 7):
        spool.write_bytes(torn[:end])
        sidecar.write_bytes(b"".join(lines[:2]))
        assert len(read(b"".join(archive.chunks(JOB)))) in (5, 6)
        Spool(spool).seal()
        assert killed.bodies == [b"one", b"two"]
        archive.close()
        spool.with_name(spool.name.removesuffix(".open")).unlink()


@pytest.mark.parametrize(
    "text", [None, b"", b"half a li", b"\0" * 300, b"a 1 {}\n", b'a 1 {"offset": "5", "length": "9"}\n']
)
def test_without_a_complete_index_the_whole_segment_is_read(killed: Killed, text: bytes | None) -> None:
    killed.sidecar.unlink() if text is None else killed.sidecar.write_bytes(text)
    killed.adopted()
    assert killed.bodies == [b"one", b"two"]
    assert_indexed(killed.archive)


def test_a_torn_last_line_of_the_index_is_repaired(killed: Killed) -> None:
    os.truncate(killed.sidecar, killed.sidecar.stat().st_size - 20)
    killed.adopted()
    assert killed.bodies == [b"one", b"two"]
    assert_indexed(killed.archive)


def test_only_records_after_the_indexed_ones_are_read(killed: Killed) -> None:
    """A fault in the middle would stop a reader of the whole segment."""
    data = bytearray(killed.spool.read_bytes())
    data[400] ^= 0xFF
    killed.spool.write_bytes(data)
    killed.adopted()
    assert (root_of(killed.archive) / f"{only_segment(killed.archive)}.warc.gz").read_bytes() == data


def test_the_export_of_an_open_segment_ends_with_a_complete_record(killed: Killed) -> None:
    with killed.spool.open("ab") as file:
        file.write(b"\x1f\x8b\x08 half a member")
    records = read(b"".join(killed.archive.chunks(JOB)))
    assert [record.body for record in of_type(records, "response")] == [b"one", b"two"]
