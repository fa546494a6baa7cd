from __future__ import annotations

import time

import pytest

from shoal.fetch.exchange import Headers, final_head, parse_head, retry_after_s

NOW = 1_790_000_000.0  # Mon, 21 Sep 2026 14:13:20 GMT


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Mon, 21 Sep 2026 14:14:20 GMT", 60.0),
        ("Monday, 21-Sep-26 14:14:20 GMT", 60.0),
        ("Mon, 21 Sep 2026 14:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("Mon, 99 Sep 2026 14:14:20 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(value: str, wait_s: float | None) -> None:
    assert retry_after_s(value, NOW) == wait_s


def test_a_retry_after_of_absurd_length_is_still_a_number() -> None:
    assert retry_after_s("9" * 10_000, NOW) == pytest.approx(1e12, rel=1e-6)


def test_headers_keep_their_order_and_ignore_case() -> None:
    headers = Headers([("B", "1"), ("a", "2"), ("b", "3")])
    assert list(headers) == [("B", "1"), ("a", "2"), ("b", "3")]
    assert (headers.get("b"), headers.get_all("B"), headers.get("c", "none")) == ("1", ["1", "3"], "none")
    assert headers.get_all("c") == []
    assert "A" in headers
    assert len(headers) == 3


@pytest.mark.parametrize(
    "received",
    [
        b"HTTP/1.1 200 OK\r\nA: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\n",
        b"HTTP/1.1 200 Connection established\r\nB: 2\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\n\r\nLate: 1\r\n\r\n",
        b"HTTP/1.1 200 OK\nA: 1\n\n",
    ],
)
def test_the_final_head_is_found_among_all_header_lines(received: bytes) -> None:
    reason, headers = parse_head(final_head(received))
    assert (reason, list(headers)) == ("OK", [("A", "1")])


def test_lines_that_are_no_field_are_left_out() -> None:
    _, headers = parse_head(b"HTTP/2 200 \r\nno colon\r\nA:b:c\r\n\r\n")
    assert list(headers) == [("A", "b:c")]


def test_blanks_without_end_in_a_folded_head_take_no_time() -> None:
    began = time.process_time()
    _, headers = parse_head(b"HTTP/1.1 200 OK\r\n x: y\r\nX-Wide: a" + b" " * 90_000 + b"b\r\n\r\n")
    assert len(headers.get("x-wide")) == 90_002
    # Where each blank is looked at once more for every blank before it, this takes 40 s.
    assert time.process_time() - began < 4
