"""Reading the arguments of a command into inputs: lines, duplicates, passwords and names."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.model import ScopeKind
from shoal.spiders.input_sources import BAD_KEPT, read_sources, seed_scope
from shoal.spiders.url_lists import SPELT_CHARS, reason_words
from shoal.urls import Params
from tests.spiders.conftest import Write, inputs, sources


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
        ("/no/such/thing", "malformed"),
        ("example.com/robots.txt", "https://example.com/robots.txt"),
        ("localhost/index.html", "https://localhost/index.html"),
        ("host:8080/list.csv", "https://host:8080/list.csv"),
        ("//example.com/index.html", "https://example.com/index.html"),
        ("shop.py:8000", "https://shop.py:8000/"),
        ("https://shop.py", "https://shop.py/"),
        ("www.shop.py/", "https://www.shop.py/"),
        ("example.com/a,b", "https://example.com/a,b"),
        ("name,example.com", "cells"),
        ("http//example.com", "misspelt_scheme"),
        ("https;//example.com", "misspelt_scheme"),
        ("htp://example.com", "misspelt_scheme"),
        ("hhttps://example.com/x", "misspelt_scheme"),
        ("http://http://example.com", "misspelt_scheme"),
        ("https:https://example.com", "misspelt_scheme"),
        ("http", "misspelt_scheme"),
        ("http:/example.com", "http://example.com/"),
        ("http:\\\\example.com", "http://example.com/"),
        ("http.example.com//x", "https://http.example.com//x"),
        ("www,example.com", "bad_host"),
        ("example,com/x", "bad_host"),
        ("https://www,example.com/", "bad_host"),
        ("example..com", "bad_host"),
        ("a_b.example.com.", "https://a_b.example.com./"),
        ("https://[2001:db8::1]:8080/", "https://[2001:db8::1]:8080/"),
        ("1,https://example.com/", "cells"),
        ("", "malformed"),
        ("https://a b/", "malformed"),
        ("https://example.com/\udc80", "malformed"),
        ("https://example.com/" + "x" * 9_000, "too_long"),
        ("x" * 5_000_000, "too_long"),
        ("https://example.com/a\tb", "control_character"),
    ],
)
def test_an_argument_is_a_url_with_or_without_a_scheme(word: str, meant: str) -> None:
    assert url_or_reason(word) == meant


def test_a_column_without_a_list_is_refused() -> None:
    with pytest.raises(UsageError, match="--column url needs a list"):
        sources("example.com", column="url")


def test_an_existing_file_is_a_list_even_without_an_at_sign(write: Write) -> None:
    given = sources(write("urls.txt", b"a.example"))
    assert given.listed
    assert [one.target.url for one in given.inputs if one.target] == ["https://a.example/"]


def test_a_directory_named_like_a_host_does_not_hide_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "example.com").mkdir()
    monkeypatch.chdir(tmp_path)
    given = sources("example.com")
    assert (given.listed, given.name) == (False, "example.com")


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("nosuch.py", "there is no file nosuch.py; for a host write https://nosuch.py/"),
        ("nosuch.py:books", "there is no file nosuch.py; for a host write https://nosuch.py/"),
        ("Nosuch.YAML", "there is no file Nosuch.YAML; for a host write https://Nosuch.YAML/"),
        ("list.v2.csv", "there is no file list.v2.csv; for a host write https://list.v2.csv/"),
        ("spiders/nosuch.py", "there is no file spiders/nosuch.py"),
        ("./nosuch.txt", "there is no file ./nosuch.txt"),
        ("/no/such/page.html", "there is no file /no/such/page.html"),
        ("spiders", "spiders is a directory: name a file in it; for a host write https://spiders/"),
        ("spiders/", "spiders/ is a directory: name a file in it; for a host write https://spiders/"),
        ("..", ".. is a directory: name a file in it"),
        ("books", "there is no file books: did you mean books.py? For a host write https://"),
        ("books:old", "there is no file books:old: did you mean books.py:old? For a host write https://"),
        ("spiders/shop", "there is no file spiders/shop: did you mean spiders/shop.yaml? For a host write https://"),
    ],
)
def test_a_missing_file_and_a_directory_are_not_hosts(
    word: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spiders").mkdir()
    for name in ("books.py", "spiders/shop.yaml"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refusal:
        sources("example.com", word)
    assert str(refusal.value) == told


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
def test_no_password_is_kept_in_the_text_of_an_input(spelling: str, shown: str) -> None:
    given = sources("-", stdin=spelling.encode())
    assert [one.spelt for one in given.inputs] == [shown]
    assert all(bad.spelt == shown for bad in given.bad)


def test_credentials_are_kept_by_origin_and_must_not_change() -> None:
    lines = b"https://ann:p%40w@a.example/\nhttps://a.example/2\nhttp://bob@a.example:81/\nhttps://eve:x@a.example/3"
    given = sources("-", stdin=lines)
    assert [one.reason for one in given.inputs] == [None, None, None, "other_credentials"]
    assert given.credentials == {"https://a.example": "ann:p@w", "http://a.example:81": "bob:"}


def test_a_very_long_input_is_cut() -> None:
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


def test_the_scope_of_a_list_is_the_list_unless_another_is_chosen() -> None:
    assert seed_scope(True, None) is ScopeKind.LISTED
    assert seed_scope(False, None) is ScopeKind.HOST
    assert seed_scope(True, ScopeKind.DOMAIN) is ScopeKind.DOMAIN


texts = st.text("aA:@/\\?#.%[]\"' \té€", max_size=30)


@given(st.lists(texts.filter(lambda text: text.strip()), min_size=1, max_size=20))
def test_every_input_has_the_number_of_its_line(lines: list[str]) -> None:
    content = "\n".join(["example.com", *lines]).encode()
    for one in inputs("-", stdin=content):
        assert one.spelt.rpartition("***@")[2] in ["example.com", *lines][one.line - 1]


@given(st.sampled_from(["https:", "http://", "HTTPS:\\/", "//", "ftp://", ""]), texts, texts)
def test_whatever_a_parser_takes_for_a_password_is_masked(scheme: str, user: str, rest: str) -> None:
    given = sources("-", stdin=f"example.com\n{scheme}{user}:hunter2@{rest}".encode())
    for one in given.inputs:
        if one.target is None or any("hunter2" in pair for pair in given.credentials.values()):
            assert "hunter2" not in one.spelt
