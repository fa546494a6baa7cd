from __future__ import annotations

import gc
import gzip
import io
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.model import Input, ScopeKind
from shoal.spiders.lists import SPELT_CHARS, reason_words
from shoal.spiders.sources import BAD_KEPT, Sources, read_sources, seed_scope
from shoal.urls import Params
from tests.store.memory import peak_memory

Write = Callable[[str, bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, content: bytes) -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return written


def sources(*words: str, column: str | None = None, stdin: bytes = b"") -> Sources:
    return read_sources(words, Params(), "host", column, io.BytesIO(stdin))


def inputs(*words: str, column: str | None = None, stdin: bytes = b"") -> list[Input]:
    return list(sources(*words, column=column, stdin=stdin).inputs)


def listed(content: bytes, column: str | None = None) -> list[tuple[int, str | None]]:
    """Line, and URL or reason, of each input of a list."""
    return [
        (one.line, one.target.url if one.target else one.reason) for one in inputs("-", column=column, stdin=content)
    ]


def url_or_reason(word: str) -> str | None:
    (one,) = inputs(word)
    return one.target.url if one.target else one.reason


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("http://example.com/a", "http://example.com/a"),
        ("example.com/x", "https://example.com/x"),
        ("localhost", "https://localhost/"),
        ("localhost:8000", "https://localhost:8000/"),
        ("host:8080/path", "https://host:8080/path"),
        ("host:8080?q", "https://host:8080/?q"),
        ("127.0.0.1:8000", "https://127.0.0.1:8000/"),
        ("[::1]:8000/x", "https://[::1]:8000/x"),
        ("//example.com/x", "https://example.com/x"),
        ("example.com/a:b@c", "https://example.com/a:b@c"),
        ("münchen.de:8080", "https://xn--mnchen-3ya.de:8080/"),
        (" 'example.com' ", "https://example.com/"),
        ("mailto:ann@example.com", "not_http"),
        ("ann@example.com", "not_http"),
        ("ann:1234@example.com", "not_http"),
        ("ftp://example.com/", "not_http"),
        ("file:/etc/passwd", "not_http"),
        ("tel:123456", "malformed"),
        ("/no/such/file.txt", "malformed"),
        ("./no-such-file.txt", "malformed"),
        ("", "malformed"),
        ("https://a b/", "malformed"),
        ("https://example.com/\udc80", "malformed"),
        ("https://example.com/" + "x" * 9_000, "too_long"),
        ("x" * 5_000_000, "too_long"),
        ("https://example.com/a\tb", "control_character"),
    ],
)
def test_a_word_is_a_url_with_or_without_its_scheme(word: str, meant: str) -> None:
    assert url_or_reason(word) == meant


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"http://a.example/\nhttp://b.example/\n", [(1, "http://a.example/"), (2, "http://b.example/")]),
        (b"http://a.example/\r\n\r\nb.example", [(1, "http://a.example/"), (3, "https://b.example/")]),
        (b"http://a.example/\rb.example", [(1, "http://a.example/"), (2, "https://b.example/")]),
        (b"\xef\xbb\xbfa.example\n\xef\xbb\xbfb.example", [(1, "https://a.example/"), (2, "https://b.example/")]),
        (b"# mine\n  # also\na.example#top", [(3, "https://a.example/")]),
        (b"\"a.example\"\n ' b.example '\t\n", [(1, "https://a.example/"), (2, "https://b.example/")]),
        (b"http://a.example/it's'", [(1, "http://a.example/it's'")]),
        (b"a.example/1,2,3", [(1, "https://a.example/1,2,3")]),
        ("a.example/é".encode(), [(1, "https://a.example/%C3%A9")]),
        ("a.example/é".encode("latin-1"), [(1, "https://a.example/%C3%A9")]),
        ("a.example/é\r\nb.example".encode("utf-16"), [(1, "https://a.example/%C3%A9"), (2, "https://b.example/")]),
        ("\ufeffa.example".encode("utf-16-be"), [(1, "https://a.example/")]),
        (b"http://a.example/\x00\nhttp://b.example/", [(1, "control_character"), (2, "http://b.example/")]),
        (b"http://a.example/\thttp://b.example/", [(1, "control_character")]),
        (b"http://\nmailto:x@y\nb.example", [(1, "malformed"), (2, "not_http"), (3, "https://b.example/")]),
    ],
)
def test_a_list_is_read_in_every_usual_form(content: bytes, found: list[tuple[int, str]]) -> None:
    assert listed(content) == found


@pytest.mark.parametrize(
    ("content", "column", "found"),
    [
        (b"id,url\n1,a.example\n2,b.example", "url", [(2, "https://a.example/"), (3, "https://b.example/")]),
        (b'\xef\xbb\xbf"URL",id\r\na.example,1\r\n', "url", [(2, "https://a.example/")]),
        (b'\xef\xbb\xbf"u,r,l",id\na.example,1', "u,r,l", [(2, "https://a.example/")]),
        (b"#,url\n1,a.example\n#2,b.example", "url", [(2, "https://a.example/")]),
        (b"# made today\n\nurl\na.example", "url", [(4, "https://a.example/")]),
        (b'1,a.example\n2,"b.example/x,y"', "2", [(1, "https://a.example/"), (2, "https://b.example/x,y")]),
        (b't,u\n"two\nlines",a.example\nx,b.example', "u", [(2, "https://a.example/"), (4, "https://b.example/")]),
        (b"t,u\nx\ny,\n,\nz,b.example", "u", [(2, "no_column"), (3, "empty"), (5, "https://b.example/")]),
        (b'u,t\n"a.example\nb.example",x', "u", [(2, "control_character")]),
        (b"u,t\na.example," + b"x" * 200_000 + b"\nb.example,x", "u", [(2, "not_csv"), (3, "https://b.example/")]),
    ],
)
def test_a_column_of_csv_is_a_list(content: bytes, column: str, found: list[tuple[int, str]]) -> None:
    assert listed(content, column) == found


@pytest.mark.parametrize("column", ["link", "0", "3", "9" * 5_000])
def test_an_unknown_column_is_refused_with_those_there_are(column: str) -> None:
    with pytest.raises(UsageError, match="It has 2: 'id', 'url'"):
        sources("-", column=column, stdin=b"id,url\n1,a.example")


def test_the_complaint_about_a_missing_header_shows_no_password() -> None:
    with pytest.raises(UsageError) as refusal:
        sources("-", column="url", stdin=b"https://ann:secret@a.example/\n")
    assert "secret" not in str(refusal.value)


def test_csv_that_is_broken_from_its_first_row_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="not CSV"):
        sources("-", column="url", stdin=b'"' + b"x\n" * 200_000)


def test_a_column_without_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="--column url is for a list"):
        sources("example.com", column="url")


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"# nothing\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_list_without_a_url_is_refused_at_once(content: bytes, write: Write) -> None:
    with pytest.raises(UsageError, match=r"empty\.txt' holds no URL"):
        sources("@" + write("empty.txt", content))


def test_a_header_without_rows_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="standard input holds no URL"):
        sources("-", column="url", stdin=b"id,url\n")


@pytest.mark.parametrize("content", [gzip.compress(os.urandom(20_000)), "http://a.example/".encode("utf-16-le")])
def test_a_binary_list_is_refused_at_once(content: bytes, write: Write) -> None:
    with pytest.raises(UsageError, match=r"urls\.bin' is not text"):
        sources("@" + write("urls.bin", content))


def test_a_missing_file_and_a_directory_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.txt' cannot be read: No such file"):
        sources("example.com", f"@{tmp_path}/missing.txt")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        sources(f"@{tmp_path}")


def test_an_existing_file_is_a_list_even_without_its_sign(write: Write) -> None:
    given = sources(write("urls.txt", b"a.example"))
    assert given.listed
    assert [one.target.url for one in given.inputs if one.target] == ["https://a.example/"]


def test_a_directory_named_like_a_host_does_not_hide_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "example.com").mkdir()
    monkeypatch.chdir(tmp_path)
    given = sources("example.com")
    assert (given.listed, given.name) == (False, "example.com")


def test_a_pipe_is_a_list(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a.example\n")
    os.close(writing)
    try:
        assert [one.spelt for one in inputs(f"@/dev/fd/{reading}")] == ["a.example"]
    finally:
        os.close(reading)


def test_a_host_that_ends_like_a_spider_is_still_a_host() -> None:
    assert url_or_reason("www.shop.py") == "https://www.shop.py/"


def test_standard_input_is_left_open_and_read_only_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="only once"):
        sources("-", "-", stdin=b"a.example\nb.example")
    (tmp_path / "piped").write_bytes(b"a.example\nb.example\n")
    with (tmp_path / "piped").open("rb") as stdin:
        abandoned = read_sources(["-"], Params(), "host", None, stdin)
        assert next(abandoned.inputs).spelt == "a.example"
        del abandoned
        gc.collect()
        assert not stdin.closed


def test_lines_are_numbered_as_if_all_sources_were_one_list(write: Write) -> None:
    first = write("first.txt", b"# two\nb.example\n\n\n")
    second = write("second.txt", b"\nc.example\n")
    given = inputs("a.example", f"@{first}", f"@{second}", "d.example")
    assert [(one.line, one.spelt) for one in given] == [
        (1, "a.example"),
        (3, "b.example"),
        (7, "c.example"),
        (8, "d.example"),
    ]


def test_duplicates_point_to_the_first_line_of_their_request() -> None:
    given = sources("-", "https://a.example/?b=2&a=1", stdin=b"a.example/?a=1&b=2\nb.example\na.example/?a=1&b=2#x\n")
    assert [(one.line, one.duplicate_of) for one in given.inputs] == [(1, None), (2, None), (3, 1), (4, 1)]
    assert (given.good, given.duplicates, given.bad_count) == (2, 2, 0)


@pytest.mark.parametrize(
    ("spelling", "shown"),
    [
        ("https://ann:s3cret@a.example/x", "https://***@a.example/x"),
        ("https:ann:s3cret@a.example/@x", "https:***@a.example/@x"),
        ("HTTPS:\\\\ann:x@s3cret@a.example", "HTTPS:\\\\***@a.example"),
        ("//ann:s3cret@a.example/", "//***@a.example/"),
        ("https://a.example/@ann", "https://a.example/@ann"),
        ("https://ann:s3/cret@a.example/", "https://***@a.example/"),
        ("https://ann:s3#cret@a.example:x/", "https://***@a.example:x/"),
        ("ftp://ann:s3cret@a.example/", "ftp://***@a.example/"),
        ("ann:s3cret@a.example", "***@a.example"),
    ],
)
def test_no_password_stays_in_the_spelling(spelling: str, shown: str) -> None:
    given = sources("-", stdin=spelling.encode())
    assert [one.spelt for one in given.inputs] == [shown]
    assert all(bad.spelt == shown for bad in given.bad)


def test_credentials_are_kept_by_origin_and_may_not_change() -> None:
    lines = b"https://ann:p%40w@a.example/\nhttps://a.example/2\nhttp://bob@a.example:81/\nhttps://eve:x@a.example/3"
    given = sources("-", stdin=lines)
    assert [one.reason for one in given.inputs] == [None, None, None, "other_credentials"]
    assert given.credentials == {"https://a.example": "ann:p@w", "http://a.example:81": "bob:"}


def test_a_spelling_is_cut_where_it_is_longer_than_any_table_should_hold() -> None:
    (one,) = inputs("https://a.example/#" + "x" * 3_000)
    assert len(one.spelt) == SPELT_CHARS
    assert one.target is not None


def test_only_the_first_bad_lines_are_kept_and_all_are_counted() -> None:
    given = sources("-", stdin=b"mailto:x\n" * (BAD_KEPT + 5))
    assert len(list(given.inputs)) == given.bad_count == BAD_KEPT + 5
    assert len(given.bad) == BAD_KEPT
    assert given.bad[-1] == (BAD_KEPT, "mailto:x", "not_http")
    assert reason_words("not_http") == "is not an http or https URL"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["https://www.example.com/x", "b.example"], "www.example.com"),
        (["localhost:8000"], "localhost:8000"),
        (["mailto:ann@example.com"], "crawl"),
        (["-"], "stdin"),
    ],
)
def test_a_job_is_named_after_its_first_source(words: list[str], name: str) -> None:
    assert sources(*words, stdin=b"a.example").name == name


def test_a_job_from_a_file_is_named_after_the_file(write: Write) -> None:
    assert sources("@" + write("my-urls.csv", b"a.example"), "b.example").name == "my-urls"


def test_a_list_is_its_own_scope_unless_another_is_asked_for() -> None:
    assert seed_scope(True, None) is ScopeKind.LISTED
    assert seed_scope(False, None) is ScopeKind.HOST
    assert seed_scope(True, ScopeKind.DOMAIN) is ScopeKind.DOMAIN


pieces = st.one_of(
    st.sampled_from(
        [b"https://a.example/", b"b.example", b"url", b",", b'"', b"\n", b"\r\n", b"#", b"\0", b"@", b"\xc3"]
    ),
    st.binary(max_size=6),
)
contents = st.one_of(
    st.binary(max_size=400),
    st.lists(pieces, max_size=40).map(b"".join),
    st.lists(pieces, max_size=40).map(b"".join).map(b"\xff\xfe".__add__),
)


@given(contents, st.sampled_from([None, "1", "2", "url"]))
def test_any_bytes_are_a_list_or_a_usage_error(content: bytes, column: str | None) -> None:
    try:
        given = sources("-", column=column, stdin=content)
        found = list(given.inputs)
    except UsageError:
        return
    assert len(found) == given.good + given.duplicates + given.bad_count > 0
    assert all(reason_words(one.reason) for one in found if one.reason)
    numbers = [one.line for one in found]
    assert numbers == sorted(set(numbers))


texts = st.text("aA:@/\\?#.%[]\"' \té€", max_size=30)


@given(st.lists(texts.filter(lambda text: text.strip()), min_size=1, max_size=20))
def test_every_line_stands_in_its_place(lines: list[str]) -> None:
    content = "\n".join(["example.com", *lines]).encode()
    for one in inputs("-", stdin=content):
        assert one.spelt.rpartition("***@")[2] in ["example.com", *lines][one.line - 1]


@given(st.sampled_from(["https:", "http://", "HTTPS:\\/", "//", "ftp://", ""]), texts, texts)
def test_whatever_a_parser_takes_for_a_password_is_masked(scheme: str, user: str, rest: str) -> None:
    given = sources("-", stdin=f"example.com\n{scheme}{user}:hunter2@{rest}".encode())
    for one in given.inputs:
        if one.target is None or any("hunter2" in pair for pair in given.credentials.values()):
            assert "hunter2" not in one.spelt


def test_a_long_list_is_never_held(write: Write) -> None:
    lines, traced = 100_000, 20_000
    path = write("long.txt", b"".join(b"https://a.example/%d#%s\n" % (number, b"x" * 200) for number in range(lines)))
    # Tracing is slow, so only the beginning is traced: were lines or inputs held, it would take twice the bound.
    with peak_memory() as peak:
        given = sources(f"@{path}")
        assert sum(1 for _ in islice(given.inputs, traced)) == traced
    assert peak.bytes < 150 * traced
    assert sum(1 for _ in given.inputs) == given.good - traced == lines - traced


def test_a_list_without_line_ends_is_never_held(write: Write) -> None:
    path = write("line.txt", b"x" * 30_000_000 + b"\nb.example\n")
    with peak_memory() as peak:
        found = inputs(f"@{path}")
    assert [(one.line, one.reason) for one in found] == [(1, "too_long"), (2, None)]
    assert peak.bytes < 10_000_000
