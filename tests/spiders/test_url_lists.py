"""Reading lists of URLs: all their forms, what is refused at once, and bounded memory."""

from __future__ import annotations

import gzip
import os
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.spiders.url_lists import reason_words
from tests.spiders.conftest import Write, inputs, sources
from tests.store.memory import peak_memory


def listed(content: bytes, column: str | None = None) -> list[tuple[int, str | None]]:
    """The line, and the URL or reason, of each input of a list."""
    return [
        (one.line, one.target.url if one.target else one.reason) for one in inputs("-", column=column, stdin=content)
    ]


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
        (b"# a, b\nid;url\n1;a.example/x,y", "url", [(3, "https://a.example/x,y")]),
        (b"id\turl\n1\ta.example", "url", [(2, "https://a.example/")]),
        (b"http://a.example/;v=1\nhttp://b.example/", "1", [(1, "http://a.example/;v=1"), (2, "http://b.example/")]),
        (b'1,a.example\n2,"b.example/x,y"', "2", [(1, "https://a.example/"), (2, "https://b.example/x,y")]),
        (b"id,web site\n1,a.example", "2", [(1, "header"), (2, "https://a.example/")]),
        (b"localhost\nintranet", "1", [(1, "https://localhost/"), (2, "https://intranet/")]),
        (b't,u\n"two\nlines",a.example\nx,b.example', "u", [(2, "https://a.example/"), (4, "https://b.example/")]),
        (b"t,u\nx\ny,\n,\nz,b.example", "u", [(2, "no_column"), (3, "empty"), (5, "https://b.example/")]),
        (b'u,t\n"a.example\nb.example",x', "u", [(2, "control_character")]),
        (b"u,t\na.example," + b"x" * 200_000 + b"\nb.example,x", "u", [(2, "not_csv"), (3, "https://b.example/")]),
    ],
)
def test_a_column_of_csv_is_a_list(content: bytes, column: str, found: list[tuple[int, str]]) -> None:
    assert listed(content, column) == found


@pytest.mark.parametrize("column", ["link", "0", "3", "9" * 5_000])
def test_an_unknown_column_is_refused_and_the_known_ones_are_named(column: str) -> None:
    with pytest.raises(UsageError, match="It has 2: 'id', 'url'"):
        sources("-", column=column, stdin=b"id,url\n1,a.example")


def test_the_error_about_a_missing_header_shows_no_password() -> None:
    with pytest.raises(UsageError) as refusal:
        sources("-", column="url", stdin=b"https://ann:secret@a.example/\n")
    assert "secret" not in str(refusal.value)


def test_csv_that_is_broken_from_its_first_row_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="not CSV"):
        sources("-", column="url", stdin=b'"' + b"x\n" * 200_000)


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"# nothing\n", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_list_without_a_url_is_refused_at_once(content: bytes, write: Write) -> None:
    with pytest.raises(UsageError, match=r"empty\.txt' contains no URL"):
        sources("@" + write("empty.txt", content))


def test_a_header_without_rows_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="standard input contains no URL"):
        sources("-", column="url", stdin=b"id,url\n")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(os.urandom(20_000)), "is not a list of URLs, and not a sitemap or feed: neither XML"),
        (b"\x89" + os.urandom(20_000), "is not text"),
        ("http://a.example/".encode("utf-16-le"), "is not text"),
        (b"<html>", "is not a list of URLs, and not a sitemap or feed: the root element is <html>"),
    ],
    ids=["gzip", "noise", "utf-16", "html"],
)
def test_what_is_no_list_is_refused_at_once(content: bytes, why: str, write: Write) -> None:
    with pytest.raises(UsageError, match=rf"urls\.bin' {why}"):
        sources("@" + write("urls.bin", content))


SITEMAP = b"<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2</loc></url></urlset>"
SITEMAP_FILES = {
    "sitemap": SITEMAP,
    "gzipped": gzip.compress(SITEMAP),
    "utf-16": SITEMAP.decode().encode("utf-16"),
    "gzipped list": gzip.compress(b"# two\nhttp://a.example/1\nhttp://a.example/2 # last\n"),
    "rss": b"<?xml version='1.0'?><rss><item><link>http://a.example/1</link></item>"
    b"<item><guid>http://a.example/2</guid></item></rss>",
    "index": b"<sitemapindex><sitemap><loc>http://a.example/1</loc></sitemap>"
    b"<sitemap><loc>http://a.example/2</loc></sitemap></sitemapindex>",
    "json feed": b'{"version": "https://jsonfeed.org/version/1.1", "items": [{"url": "http://a.example/1"},'
    b'{"url": "http://a.example/2"}]}',
}


@pytest.mark.parametrize("content", SITEMAP_FILES.values(), ids=SITEMAP_FILES)
def test_a_sitemap_or_feed_is_a_list_whatever_its_name(content: bytes, write: Write) -> None:
    expected = [(1, "http://a.example/1"), (2, "http://a.example/2")]
    for word in ("@" + write("urls.txt", content), "-"):
        assert [(one.line, one.spelt) for one in inputs(word, stdin=content)] == expected


def test_an_error_in_a_sitemap_is_a_bad_line_after_its_urls() -> None:
    broken = SITEMAP.replace(b"<url>", b"<url><loc>http://a.example/<3</loc></url><url>", 1)
    *good, bad = inputs("-", stdin=broken)
    assert [one.spelt for one in good] == ["http://a.example/1", "http://a.example/2"]
    assert "not well-formed XML" in bad.spelt and bad.target is None


def test_a_comment_may_follow_a_url() -> None:
    lines = b"http://a.example/1 # the first\nhttp://a.example/2#part\n  # nothing\n'http://a.example/3'\t#x\n"
    assert [one.target.url for one in inputs("-", stdin=lines) if one.target] == [
        f"http://a.example/{n}" for n in (1, 2, 3)
    ]


def test_a_missing_file_and_a_directory_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.txt' cannot be read: No such file"):
        sources("example.com", f"@{tmp_path}/missing.txt")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        sources(f"@{tmp_path}")


def test_a_pipe_is_a_list(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"a.example\n")
    os.close(writing)
    try:
        assert [one.spelt for one in inputs(f"@/dev/fd/{reading}")] == ["a.example"]
    finally:
        os.close(reading)


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


def test_a_long_list_is_never_held_in_memory(write: Write) -> None:
    lines, traced = 100_000, 20_000
    path = write("long.txt", b"".join(b"https://a.example/%d#%s\n" % (number, b"x" * 200) for number in range(lines)))
    # Tracing is slow, so only the beginning is traced: if lines or inputs were kept, it would take twice the limit.
    with peak_memory() as peak:
        given = sources(f"@{path}")
        assert sum(1 for _ in islice(given.inputs, traced)) == traced
    assert peak.bytes < 150 * traced
    assert sum(1 for _ in given.inputs) == given.good - traced == lines - traced


def test_a_list_without_line_ends_is_never_held_in_memory(write: Write) -> None:
    path = write("line.txt", b"x" * 30_000_000 + b"\nb.example\n")
    with peak_memory() as peak:
        found = inputs(f"@{path}")
    assert [(one.line, one.reason) for one in found] == [(1, "too_long"), (2, None)]
    assert peak.bytes < 10_000_000


def test_an_endless_csv_row_is_refused() -> None:
    """Each of its cells ends, but contains a line end, so that the row continues."""
    cell = b'"' + b"x" * 100_000 + b'\n",'
    found = listed(b"u,t\n" + cell * 60 + b"\nb.example,x\n", "u")
    assert found[0] == (2, "not_csv") and len(found) > 2, "it is not read to its end as one row"


def columns(content: bytes, column: str | None = None) -> list[dict[str, str] | None]:
    found = (one.columns for one in inputs("-", column=column, stdin=content))
    return [None if row is None else dict(row) for row in found]


def test_a_row_of_csv_is_kept_with_its_url_but_without_its_password() -> None:
    content = b"sku,Site\n1,http://ann:pw@a.example/?q=x@y\n2,\n3,b.example,more\n"
    assert columns(content, "site") == [
        {"sku": "1", "Site": "http://***@a.example/?q=x@y"},
        {"sku": "2", "Site": ""},
        {"sku": "3", "Site": "b.example"},
    ]


def test_columns_of_a_list_without_a_header_are_named_by_number() -> None:
    assert columns(b"7,a.example\n8,b.example\n", "2") == [{"1": "7", "2": "a.example"}, {"1": "8", "2": "b.example"}]
    assert columns(b"sku,site\n8,b.example\n", "2") == [None, {"sku": "8", "site": "b.example"}]
    assert columns(b"a.example\n") == [None]


def test_a_list_may_be_json_lines() -> None:
    content = b'# mine\n\n{"url": "a.example", "sku": 7, "tags": ["x"]}\n"b.example"\nc.example\n{"sku": 1}\n'
    assert listed(content) == [(3, "https://a.example/"), (4, "https://b.example/"), (5, "not_json"), (6, "not_json")]
    assert columns(content)[0] == {"url": "a.example", "sku": "7", "tags": '["x"]'}
    assert listed(b'{"site": "a.example"}', "site") == [(1, "https://a.example/")]


def test_long_rows_are_cut() -> None:
    many = ",".join(f"c{n}" for n in range(100))
    (row,) = columns(f"site,{many}\na.example,{'x' * 5000},{many}\n".encode(), "site")
    assert row is not None and len(row) == 50 and len(row["c0"]) == 1000
