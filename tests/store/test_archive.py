from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.store.archive.archive import Archive
from shoal.store.archive.capture import Capture, Reference
from shoal.store.archive.recorder import SEGMENT_BYTES, Appended, Recorder
from tests.store.warcs import capture, of_type, read, read_folder

JOB = "j1"
ABOUT = {"software": "shoal/test", "robots": "obey"}


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with closing(Archive(tmp_path / "archive")) as archive:
        yield archive


def kept(archive: Archive, *captures: Capture, job: str = JOB, max_bytes: int | None = None) -> Appended:
    """Appended in one go, and sealed."""
    recorder = Recorder(archive, job, ABOUT, max_bytes)
    appended = recorder.append(captures)
    recorder.seal()
    return appended


def body_at(archive: Archive, reference: Reference | None) -> bytes:
    assert reference is not None
    return archive.record(reference).http[1]


def test_a_segment_tells_of_its_origin_then_of_each_answer_and_the_request_it_was_given_to(archive: Archive) -> None:
    kept(archive, capture(1), capture(2))
    records = read_folder(archive.root / JOB)
    assert [record.type for record in records] == ["warcinfo", "response", "request", "response", "request"]
    assert records[0].body == b"software: shoal/test\r\nrobots: obey\r\n"
    response, request = records[1:3]
    assert (response.url, response.status, response.body) == ("https://site.test/1", "200", b"<p>page 1</p>")
    assert response.fields["WARC-IP-Address"] == "192.0.2.1"
    assert response.fields["WARC-Date"] == request.fields["WARC-Date"] == "2023-11-14T22:13:21.250000Z"
    assert request.fields["WARC-Concurrent-To"] == response.id
    assert len({record.id for record in records}) == len(records)


def test_an_address_that_only_the_proxy_knows_is_left_out(archive: Archive) -> None:
    kept(archive, capture(ip=""))
    assert not any("WARC-IP-Address" in record.fields for record in read_folder(archive.root / JOB))


@pytest.mark.parametrize(
    ("head", "http"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 4\r\n\r\n", {"A": "b", "Content-Length": "4"}),
        (b"HTTP/1.1 200\r\nA: b\r\n\r\n", {"A": "b"}),
        (b"HTTP/2 200 \r\na: b\r\n\r\n", {"a": "b"}),
        (b"HTTP/1.0 200 OK\nA: b\nC: d\n\n", {"A": "b", "C": "d"}),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\r\nC: d\r\n\r\n", {"A": "b", "C": "d"}),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            {"X-Crawler-Transfer-Encoding": "chunked", "Content-Length": "4"},
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nTransfer-Encoding: chunked\r\n\r\n",
            {"X-Crawler-content-length": "9", "X-Crawler-Transfer-Encoding": "chunked", "Content-Length": "4"},
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
            {"Content-Length": "4", "X-Crawler-Transfer-Encoding": "chunked"},
        ),
        (b"HTTP/1.1 200 OK\r\nA: \xff\x00\r\nno field\r\n\r\n", {"A": "\xff\x00"}),
    ],
)
def test_both_readers_find_head_and_body_of_whatever_came(archive: Archive, head: bytes, http: dict[str, str]) -> None:
    (at,) = kept(archive, capture(body=b"body", head=head)).references
    (response,) = of_type(read_folder(archive.root / JOB), "response")
    assert (response.status, response.body) == ("200", b"body")
    assert {name: response.http[name] for name in http} == http
    assert body_at(archive, at) == b"body"


def test_the_protocol_is_told_beside_the_head(archive: Archive) -> None:
    kept(archive, capture(head=b"HTTP/2 200 \r\na: b\r\n\r\n", protocol="h2"))
    (response,) = of_type(read_folder(archive.root / JOB), "response")
    assert response.fields["WARC-Protocol"] == "h2"
    assert b"HTTP/1.1 200 \r\na: b" in archive.record(Reference(f"{JOB}/00001", *_first_place(archive))).block


def _first_place(archive: Archive) -> tuple[int, int]:
    line = (archive.root / JOB / "00001.cdxj").read_text().splitlines()[0]
    about = json.loads(line.split(" ", 2)[2])
    return int(about["offset"]), int(about["length"])


def test_what_is_compressed_already_is_kept_as_it_came(archive: Archive) -> None:
    noise = os.urandom(10_000)
    appended = kept(archive, capture(1, noise, content_encoding="br"), capture(2, b"z" * 10_000))
    assert [body_at(archive, at) for at in appended.references] == [noise, b"z" * 10_000]
    assert archive.bytes_of(JOB) < 13_000


class TestRevisits:
    def test_a_body_that_is_there_is_not_kept_again(self, archive: Archive) -> None:
        recorder = Recorder(archive, JOB, ABOUT)
        (first,) = recorder.append([capture(1, b"same")]).references
        later = recorder.append([capture(2, b"same"), capture(3, b"other"), capture(4, b"other")]).references
        recorder.seal()
        assert later[0] == first and later[1] == later[2]
        assert [body_at(archive, at) for at in later] == [b"same", b"other", b"other"]
        response, *_ = of_type(records := read_folder(archive.root / JOB), "response")
        revisit, _ = of_type(records, "revisit")
        assert (revisit.url, revisit.status, revisit.body) == ("https://site.test/2", "200", b"")
        assert revisit.fields["WARC-Profile"].endswith("/identical-payload-digest")
        assert revisit.fields["WARC-Refers-To"] == response.id
        assert revisit.fields["WARC-Refers-To-Target-URI"] == "https://site.test/1"
        assert revisit.fields["WARC-Refers-To-Date"] == response.fields["WARC-Date"]
        assert revisit.fields["WARC-Payload-Digest"] == response.fields["WARC-Payload-Digest"]

    def test_the_same_bytes_that_are_read_otherwise_are_kept_for_themselves(self, archive: Archive) -> None:
        same = b"\x1f\x8b same"
        kept(archive, capture(1, same), capture(2, same, content_encoding="gzip"), capture(3, same, content_type="x/y"))
        assert not of_type(read_folder(archive.root / JOB), "revisit")

    def test_an_empty_body_needs_no_other(self, archive: Archive) -> None:
        appended = kept(archive, capture(1, b""), capture(2, b""))
        assert not of_type(read_folder(archive.root / JOB), "revisit")
        assert [body_at(archive, at) for at in appended.references] == [b"", b""]

    def test_a_304_leads_to_the_body_that_an_earlier_job_has(self, archive: Archive) -> None:
        (earlier,) = kept(archive, capture(1, b"as it was"), job="earlier").references
        unchanged = capture(
            1, b"", head=b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", status=304, body_at=str(earlier)
        )
        appended = kept(archive, unchanged)
        assert appended.references == [earlier] and body_at(archive, earlier) == b"as it was"
        (response,) = of_type(read_folder(archive.root / "earlier"), "response")
        (revisit,) = of_type(read_folder(archive.root / JOB), "revisit")
        assert revisit.fields["WARC-Profile"].endswith("/server-not-modified") and revisit.status == "304"
        assert revisit.fields["WARC-Refers-To"] == response.id
        assert revisit.fields["WARC-Refers-To-Date"] == response.fields["WARC-Date"]

    @pytest.mark.parametrize("missing", [None, "gone/00001:0000000000:99"])
    def test_a_304_whose_body_is_nowhere_is_kept_but_is_no_body(self, archive: Archive, missing: str | None) -> None:
        head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
        assert kept(archive, capture(1, b"", head, status=304, body_at=missing)).references == [None]
        (response,) = of_type(read_folder(archive.root / JOB), "response")
        assert response.status == "304"


class TestIndex:
    def test_it_leads_to_every_capture_in_the_order_of_keys(self, archive: Archive) -> None:
        urls = ["https://b.site.test/x", "https://www.site.test/", "http://a.test:81/Y/?q=1", "http://127.0.0.1/"]
        kept(archive, *(capture(n, url=url) for n, url in enumerate(urls)))
        lines = (archive.root / JOB / "00001.cdxj").read_text().splitlines()
        keys = [line.split(" ")[0] for line in lines]
        assert keys == ["1,0,0,127)/", "test,a:81)/y?q=1", "test,site)/", "test,site,b)/x"]
        for line in lines:
            about = json.loads(line.split(" ", 2)[2])
            record = archive.record(Reference(f"{JOB}/00001", int(about["offset"]), int(about["length"])))
            assert record.fields["warc-target-uri"] == about["url"]
            assert record.fields["warc-payload-digest"] == about["digest"]
            assert (about["status"], about["mime"], about["filename"]) == ("200", "text/html", "00001.warc.gz")

    def test_a_revisit_is_called_so(self, archive: Archive) -> None:
        kept(archive, capture(1, b"same"), capture(2, b"same"))
        lines = (archive.root / JOB / "00001.cdxj").read_text().splitlines()
        assert [json.loads(line.split(" ", 2)[2])["mime"] for line in lines] == ["text/html", "warc/revisit"]


def test_segments_are_sealed_when_they_are_large_and_when_a_run_ends(archive: Archive) -> None:
    recorder = Recorder(archive, JOB, ABOUT)
    large = [capture(n, bytes(size), content_encoding="br") for n, size in enumerate((SEGMENT_BYTES - 99, 99, 999))]
    references = [at for one in large for at in recorder.append([one]).references]
    assert sorted(file.name for file in (archive.root / JOB).iterdir()) == [
        *("00001.cdxj", "00001.warc.gz", "00002.cdxj.open", "00002.warc.gz.open")
    ]
    assert [body_at(archive, at) == one.raw for at, one in zip(references, large, strict=True)] == [True] * 3
    recorder.seal()
    recorder.append([capture(9)])
    recorder.seal()
    assert archive.segments(JOB) == [f"{JOB}/0000{n}" for n in (1, 2, 3)]
    assert read((archive.root / JOB / "00003.warc.gz").read_bytes())[0].type == "warcinfo"


def test_a_run_without_an_answer_leaves_no_segment(archive: Archive) -> None:
    Recorder(archive, JOB, ABOUT).seal()
    kept(archive, capture(), max_bytes=10)
    assert archive.segments(JOB) == [] and archive.bytes_of(JOB) == 0


def test_references_sort_as_text_in_the_order_of_the_archive(archive: Archive) -> None:
    references = kept(archive, *(capture(n, os.urandom(500)) for n in range(40))).references
    texts = [str(at) for at in references]
    assert texts == sorted(texts) and [Reference.parse(text) for text in texts] == references


class TestLimit:
    def test_the_archive_never_grows_beyond_it(self, archive: Archive) -> None:
        recorder = Recorder(archive, JOB, ABOUT, max_bytes=5_000)
        appended = [recorder.append([capture(n, os.urandom(800))]) for n in range(10)]
        recorder.seal()
        assert 3_000 < archive.bytes_of(JOB) <= 5_000
        fits = sum(not one.left_out for one in appended)
        assert [bool(one.references[0]) for one in appended] == [True] * fits + [False] * (10 - fits)
        assert len(of_type(read_folder(archive.root / JOB), "response")) == fits

    def test_it_counts_what_earlier_runs_archived(self, archive: Archive) -> None:
        kept(archive, capture(1, os.urandom(3_000)), max_bytes=5_000)
        assert kept(archive, capture(2, os.urandom(3_000)), max_bytes=5_000) == Appended([None], 1)

    def test_a_304_beyond_it_still_leads_to_its_body(self, archive: Archive) -> None:
        (earlier,) = kept(archive, capture(1), job="earlier").references
        unchanged = capture(1, b"", status=304, body_at=str(earlier))
        assert kept(archive, unchanged, max_bytes=10) == Appended([earlier], 1)


def test_what_cannot_be_written_leaves_no_trace(archive: Archive) -> None:
    recorder = Recorder(archive, JOB, ABOUT)
    recorder.append([capture(1)])
    size = archive.bytes_of(JOB)
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, usual[1]))
    try:
        with pytest.raises(Unavailable, match=r"00001\.warc\.gz\.open: File too large"):
            recorder.append([capture(2, b"same")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert archive.bytes_of(JOB) == size
    (at,) = recorder.append([capture(3, b"same")]).references
    recorder.seal()
    assert body_at(archive, at) == b"same"
    assert [one.url for one in of_type(read_folder(archive.root / JOB), "response")] == [
        *("https://site.test/1", "https://site.test/3")
    ]
    assert len((archive.root / JOB / "00001.cdxj").read_text().splitlines()) == 2


class TestPlace:
    def test_it_is_in_the_home_or_where_the_setting_says(self, tmp_path: Path) -> None:
        assert Archive.at(None, tmp_path).root == tmp_path / "archive"
        assert Archive.at("file:///srv/web%20archive", tmp_path).root == Path("/srv/web archive")

    @pytest.mark.parametrize("url", ["s3://bucket/x", "file://server/share", "file:///"])
    def test_other_places_are_refused(self, tmp_path: Path, url: str) -> None:
        with pytest.raises(UsageError, match="file:///PATH"):
            Archive.at(url, tmp_path)

    def test_a_segment_that_was_taken_away_is_named(self, archive: Archive) -> None:
        (at,) = kept(archive, capture()).references
        assert at is not None
        (archive.root / JOB / "00001.warc.gz").unlink()
        with pytest.raises(Unavailable, match=r"00001\.warc\.gz is not there"):
            archive.record(at)

    def test_a_place_that_holds_no_record_is_told(self, archive: Archive) -> None:
        (at,) = kept(archive, capture()).references
        assert at is not None
        with pytest.raises(Unavailable, match="no whole record"):
            archive.record(at._replace(offset=at.offset + 1))
