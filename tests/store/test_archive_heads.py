"""HTTP heads of all kinds, as two WARC readers see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.store.archive.archive_folders import Archive
from shoal.store.archive.head_limits import MOST_BYTES
from shoal.store.store import Store
from tests.store.archiving import JOB, body_at, kept, root_of
from tests.store.warcs import capture, of_type, read_folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """SQLite only: both databases behave the same here."""
    return tmp_path / "shoal.db"


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
def test_both_readers_find_the_head_and_body_of_any_response(
    store: Store, archive: Archive, head: bytes, http: dict[str, str]
) -> None:
    (at,) = kept(store, archive, capture(body=b"body", head=head)).references
    (response,) = of_type(read_folder(root_of(archive) / JOB), "response")
    assert (response.status, response.body) == ("200", b"body")
    assert {name: response.http[name] for name in http} == http
    assert body_at(archive, at) == b"body"


LONG = b"z" * 40_000


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([b"ETag: " + LONG], {"X-Crawler-ETag": f"{'z' * 100} (cut, 40000 bytes came)"}),
        ([b"A: b", *[b" " + LONG[:5_000]] * 8], {"X-Crawler-A": f"b {'z' * 98} (cut, 40009 bytes came)"}),
        ([LONG], {f"X-Crawler-{'z' * 100}": "(cut, 0 bytes came)"}),
        (
            [b"Transfer-Encoding: " + LONG],
            {"X-Crawler-Transfer-Encoding": f"{'z' * 100} (cut, 40000 bytes came)", "Content-Length": "4"},
        ),
        (
            [b"x: y"] * 20_000 + [b"Content-Encoding: br"],
            {"X-Crawler-Left-Out": "14708 fields of 58832 bytes", "Content-Encoding": "br"},
        ),
        ([b"x: " + LONG[:900]] * 300, {"X-Crawler-Left-Out": "266 fields of 239299 bytes"}),
    ],
    ids=["one line", "folded", "no name", "moved twice", "many lines", "much"],
)
def test_a_head_that_is_too_long_for_a_reader_is_cut_and_says_so(
    store: Store, archive: Archive, lines: list[bytes], told: dict[str, str]
) -> None:
    head = b"\r\n".join((b"HTTP/1.1 200 OK", *lines, b"A: b", b"", b""))
    kept(store, archive, capture(1, b"body", head), capture(2, b"body", head), capture(3, b"after"))
    first, again, after = of_type(read_folder(root_of(archive) / JOB), "response", "revisit")
    assert (first.status, first.body, again.type, after.body) == ("200", b"body", "revisit", b"after")
    for record in (first, again):
        assert {name: record.http[name] for name in told} == told


def test_a_status_line_that_is_too_long_keeps_its_status(store: Store, archive: Archive) -> None:
    kept(store, archive, capture(1, head=b"HTTP/1.1 200 " + LONG + b"\r\nA: b\r\n\r\n"), capture(2))
    first, after = of_type(read_folder(root_of(archive) / JOB), "response")
    assert (first.status, first.http["A"], after.body) == ("200", "b", b"<p>page 2</p>")
    assert first.http["X-Crawler-Reason"] == "(cut, 40013 bytes came)"


@pytest.mark.parametrize("body", [b"", LONG])
def test_a_request_whose_head_is_too_long_is_cut_and_keeps_its_body(
    store: Store, archive: Archive, body: bytes
) -> None:
    asked = b"POST / HTTP/1.1\r\nAccept: " + LONG + b"\r\n\r\n" + body
    kept(store, archive, capture(1, request=asked), capture(2, request=b"POST / HTTP/1.1\r\nA: b\r\n\r\n" + body))
    first, second = of_type(read_folder(root_of(archive) / JOB), "request")
    assert (first.body, second.body, second.http) == (body, body, {"A": "b"})
    assert first.http["X-Crawler-Accept"].endswith("(cut, 40000 bytes came)")


@pytest.mark.parametrize("head_bytes", [MOST_BYTES, MOST_BYTES + 1])
def test_the_longest_head_that_is_not_cut_can_be_read(store: Store, archive: Archive, head_bytes: int) -> None:
    start = b"HTTP/1.1 200 OK\r\nA: "
    kept(store, archive, capture(1, head=start + b"b" * (head_bytes - len(start) - 4) + b"\r\n\r\n"), capture(2))
    first, _ = of_type(read_folder(root_of(archive) / JOB), "response")
    assert ("A" in first.http) == (head_bytes <= MOST_BYTES)
