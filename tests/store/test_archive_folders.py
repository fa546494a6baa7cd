from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.capture import Reference
from shoal.store.archive.recorder import RecordedGroup
from shoal.store.archive.segment_table import archived_bytes
from shoal.store.archive.spools import SEGMENT_BYTES
from shoal.store.store import Store
from tests.store.archiving import JOB, Writing, body_at, kept, only_segment, root_of
from tests.store.warcs import capture, of_type, read, read_folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """SQLite only: both databases behave the same here."""
    return tmp_path / "shoal.db"


@pytest.fixture
def writing(store: Store, archive: Archive) -> Iterator[Writing]:
    writing = Writing(store, archive)
    yield writing
    writing.die()


def index_of(archive: Archive) -> list[str]:
    return (root_of(archive) / f"{only_segment(archive)}.cdxj").read_text().splitlines()


def test_a_segment_has_its_warcinfo_then_each_response_with_its_request(store: Store, archive: Archive) -> None:
    kept(store, archive, capture(1), capture(2))
    records = read_folder(root_of(archive) / JOB)
    assert [record.type for record in records] == ["warcinfo", "response", "request", "response", "request"]
    assert records[0].body == b"software: shoal/test\r\nrobots: obey\r\n"
    response, request = records[1:3]
    assert (response.url, response.status, response.body) == ("https://site.test/1", "200", b"<p>page 1</p>")
    assert response.fields["WARC-IP-Address"] == "192.0.2.1"
    assert response.fields["WARC-Date"] == request.fields["WARC-Date"] == "2023-11-14T22:13:21.250000Z"
    assert request.fields["WARC-Concurrent-To"] == response.id
    assert len({record.id for record in records}) == len(records)


def test_an_ip_address_known_only_to_the_proxy_is_left_out(store: Store, archive: Archive) -> None:
    kept(store, archive, capture(ip=""))
    assert not any("WARC-IP-Address" in record.fields for record in read_folder(root_of(archive) / JOB))


def test_a_record_names_the_protocol(store: Store, archive: Archive) -> None:
    kept(store, archive, capture(head=b"HTTP/2 200 \r\na: b\r\n\r\n", protocol="h2"))
    (response,) = of_type(read_folder(root_of(archive) / JOB), "response")
    assert response.fields["WARC-Protocol"] == "h2"
    assert b"HTTP/1.1 200 \r\na: b" in archive.record(Reference(only_segment(archive), *_first_place(archive))).block


def _first_place(archive: Archive) -> tuple[int, int]:
    line = index_of(archive)[0]
    about = json.loads(line.split(" ", 2)[2])
    return int(about["offset"]), int(about["length"])


def test_a_compressed_body_is_stored_as_received(store: Store, archive: Archive) -> None:
    noise = os.urandom(10_000)
    appended = kept(store, archive, capture(1, noise, content_encoding="br"), capture(2, b"z" * 10_000))
    assert [body_at(archive, at) for at in appended.references] == [noise, b"z" * 10_000]
    assert archived_bytes(store, JOB) < 13_000


class TestRevisits:
    def test_a_body_in_the_archive_is_not_archived_again(self, archive: Archive, writing: Writing) -> None:
        (first,) = writing.append([capture(1, b"same")]).references
        later = writing.append([capture(2, b"same"), capture(3, b"other"), capture(4, b"other")]).references
        writing.seal()
        assert later[0] == first and later[1] == later[2]
        assert [body_at(archive, at) for at in later] == [b"same", b"other", b"other"]
        response, *_ = of_type(records := read_folder(root_of(archive) / JOB), "response")
        revisit, _ = of_type(records, "revisit")
        assert (revisit.url, revisit.status, revisit.body) == ("https://site.test/2", "200", b"")
        assert revisit.fields["WARC-Profile"].endswith("/identical-payload-digest")
        assert revisit.fields["WARC-Refers-To"] == response.id
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "https://site.test/1"
        assert revisit.fields["WARC-Refers-To-Date"] == response.fields["WARC-Date"]
        assert revisit.fields["WARC-Payload-Digest"] == response.fields["WARC-Payload-Digest"]

    def test_a_revisit_replaces_records_that_were_made_in_advance(self, archive: Archive, writing: Writing) -> None:
        writing.begin()
        first, same, other = capture(1, b"same"), capture(2, b"same"), capture(3, b"other")
        writing.draft(first, same, other)
        references = writing.append([first, same, other]).references
        writing.draft(later := capture(4, b"same"))
        references += writing.append([later]).references
        writing.seal()
        assert first.draft and same.draft and other.draft and later.draft is None
        assert [body_at(archive, at) for at in references if at] == [b"same", b"same", b"other", b"same"]
        records = read_folder(root_of(archive) / JOB)
        kept_for = {
            kind: [(record.url or "")[-1:] for record in of_type(records, kind)] for kind in ("response", "revisit")
        }
        assert kept_for == {"response": ["1", "3"], "revisit": ["2", "4"]}

    def test_the_same_bytes_with_another_content_type_are_archived_again(self, store: Store, archive: Archive) -> None:
        same = b"\x1f\x8b same"
        kept(
            store,
            archive,
            capture(1, same),
            capture(2, same, content_encoding="gzip"),
            capture(3, same, content_type="x/y"),
        )
        assert not of_type(read_folder(root_of(archive) / JOB), "revisit")

    def test_an_empty_body_makes_no_revisit(self, store: Store, archive: Archive) -> None:
        appended = kept(store, archive, capture(1, b""), capture(2, b""))
        assert not of_type(read_folder(root_of(archive) / JOB), "revisit")
        assert [body_at(archive, at) for at in appended.references] == [b"", b""]

    def test_a_304_refers_to_the_body_of_an_earlier_job(self, store: Store, archive: Archive) -> None:
        (earlier,) = kept(store, archive, capture(1, b"as it was"), job="earlier").references
        unchanged = capture(
            1, b"", head=b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", status=304, body_at=str(earlier)
        )
        appended = kept(store, archive, unchanged)
        assert appended.references == [earlier] and body_at(archive, earlier) == b"as it was"
        (response,) = of_type(read_folder(root_of(archive) / "earlier"), "response")
        (revisit,) = of_type(read_folder(root_of(archive) / JOB), "revisit")
        assert revisit.fields["WARC-Profile"].endswith("/server-not-modified") and revisit.status == "304"
        assert revisit.fields["WARC-Refers-To"] == response.id
        assert revisit.fields["WARC-Refers-To-Date"] == response.fields["WARC-Date"]

    @pytest.mark.parametrize("missing", [None, "gone/20261115T131606123-here-1-aa-1:0000000000:99"])
    def test_a_304_without_an_earlier_body_is_archived_but_not_referred_to(
        self, store: Store, archive: Archive, missing: str | None
    ) -> None:
        head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        assert kept(store, archive, capture(1, b"", head, status=304, body_at=missing)).references == [None]
        (response,) = of_type(read_folder(root_of(archive) / JOB), "response")
        assert response.status == "304"


class TestIndex:
    def test_it_lists_every_capture_in_the_order_of_keys(self, store: Store, archive: Archive) -> None:
        urls = ["https://b.site.test/x", "https://www.site.test/", "http://a.test:81/Y/?q=1", "http://127.0.0.1/"]
        kept(store, archive, *(capture(n, url=url) for n, url in enumerate(urls)))
        lines = index_of(archive)
        keys = [line.split(" ")[0] for line in lines]
        assert keys == ["1,0,0,127)/", "test,a:81)/y?q=1", "test,site)/", "test,site,b)/x"]
        for line in lines:
            about = json.loads(line.split(" ", 2)[2])
            record = archive.record(Reference(only_segment(archive), int(about["offset"]), int(about["length"])))
            assert record.fields["warc-target-uri"] == about["url"]
            assert record.fields["warc-payload-digest"] == about["digest"]
            assert (about["status"], about["mime"], about["filename"]) == (
                "200",
                "text/html",
                f"{only_segment(archive)[3:]}.warc.gz",
            )

    def test_it_marks_a_revisit(self, store: Store, archive: Archive) -> None:
        kept(store, archive, capture(1, b"same"), capture(2, b"same"))
        lines = index_of(archive)
        assert [json.loads(line.split(" ", 2)[2])["mime"] for line in lines] == ["text/html", "warc/revisit"]


def test_segments_are_sealed_when_they_are_large_and_at_the_end_of_a_run(archive: Archive, writing: Writing) -> None:
    large = [capture(n, bytes(size), content_encoding="br") for n, size in enumerate((SEGMENT_BYTES - 99, 99, 999))]
    references = [at for one in large for at in writing.append([one]).references]
    stored, spooled = archive.segments(JOB)
    assert {file.name for file in (root_of(archive) / JOB).iterdir()} == _with_endings(stored, ".cdxj", ".warc.gz")
    spool = archive.spools / writing.spools.process / JOB
    assert {file.name for file in spool.iterdir()} == _with_endings(spooled, ".cdxj.open", ".warc.gz.open")
    assert [body_at(archive, at) == one.raw for at, one in zip(references, large, strict=True)] == [True] * 3
    writing.seal()
    writing.append([capture(9)])
    writing.seal()
    first, second, third = archive.segments(JOB)
    assert (first, second) == (stored, spooled)
    assert read((root_of(archive) / f"{third}.warc.gz").read_bytes())[0].type == "warcinfo"


def _with_endings(segment: str, *endings: str) -> set[str]:
    return {segment.partition("/")[2] + ending for ending in endings}


def test_a_run_without_a_response_leaves_no_segment(store: Store, archive: Archive, writing: Writing) -> None:
    writing.seal()
    kept(store, archive, capture(), max_bytes=10)
    assert archive.segments(JOB) == [] and archived_bytes(store, JOB) == 0


def test_references_sort_as_text_in_the_order_of_the_archive(store: Store, archive: Archive) -> None:
    references = kept(store, archive, *(capture(n, os.urandom(500)) for n in range(40))).references
    texts = [str(at) for at in references]
    assert texts == sorted(texts) and [Reference.parse(text) for text in texts] == references


class TestLimit:
    def test_the_archive_never_grows_beyond_it(self, store: Store, archive: Archive, writing: Writing) -> None:
        writing.begin(max_bytes=5_000)
        appended = [writing.append([capture(n, os.urandom(800))]) for n in range(10)]
        writing.seal()
        assert 3_000 < archived_bytes(store, JOB) <= 5_000
        fits = sum(not one.left_out for one in appended)
        assert [bool(one.references[0]) for one in appended] == [True] * fits + [False] * (10 - fits)
        assert len(of_type(read_folder(root_of(archive) / JOB), "response")) == fits

    def test_it_counts_what_earlier_runs_archived(self, store: Store, archive: Archive) -> None:
        kept(store, archive, capture(1, os.urandom(3_000)), max_bytes=5_000)
        assert kept(store, archive, capture(2, os.urandom(3_000)), max_bytes=5_000) == RecordedGroup([None], 1)

    def test_a_304_beyond_it_still_refers_to_its_body(self, store: Store, archive: Archive) -> None:
        (earlier,) = kept(store, archive, capture(1), job="earlier").references
        unchanged = capture(1, b"", status=304, body_at=str(earlier))
        assert kept(store, archive, unchanged, max_bytes=10) == RecordedGroup([earlier], 1)


def test_a_failed_append_leaves_no_trace(archive: Archive, writing: Writing) -> None:
    # More than the store has in any file: only the spool must exceed the limit.
    writing.append([capture(1, os.urandom(1_000_000), content_encoding="br")])
    (spool,) = archive.spools.glob("*/*/*.warc.gz.open")
    size = spool.stat().st_size
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, usual[1]))
    try:
        with pytest.raises(Unavailable, match=r"-1\.warc\.gz\.open: File too large"):
            writing.append([capture(2, b"same")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert spool.stat().st_size == size
    (at,) = writing.append([capture(3, b"same")]).references
    writing.seal()
    assert body_at(archive, at) == b"same"
    assert [one.url for one in of_type(read_folder(root_of(archive) / JOB), "response")] == [
        *("https://site.test/1", "https://site.test/3")
    ]
    assert len(index_of(archive)) == 2


class TestPlace:
    def test_the_archive_is_in_the_home_or_at_the_setting(self, tmp_path: Path) -> None:
        assert root_of(Archive.at(None, tmp_path)) == tmp_path / "archive"
        assert root_of(Archive.at("file:///srv/web%20archive", tmp_path)) == Path("/srv/web archive")

    @pytest.mark.parametrize("url", ["ftp://bucket/x", "file://server/share", "file:///", "s3://key:secret@bucket/x"])
    def test_other_places_are_refused(self, tmp_path: Path, url: str) -> None:
        with pytest.raises(UsageError, match=r"file:///|credentials"):
            Archive.at(url, tmp_path)

    def test_an_error_names_a_missing_segment(self, store: Store, archive: Archive) -> None:
        (at,) = kept(store, archive, capture()).references
        assert at is not None
        (root_of(archive) / f"{only_segment(archive)}.warc.gz").unlink()
        with pytest.raises(Unavailable, match=r"-1\.warc\.gz is missing"):
            archive.record(at)

    def test_an_error_names_an_offset_without_a_record(self, store: Store, archive: Archive) -> None:
        (at,) = kept(store, archive, capture()).references
        assert at is not None
        with pytest.raises(Unavailable, match="no complete record"):
            archive.record(at._replace(offset=at.offset + 1))
