"""Pages written to hurt: nothing raises, and none costs more than its size allows.

Each of the shapes takes under 0.3 s; lexbor alone takes from 4 s to minutes, or all memory there is. The libraries that
parse pages where the scanner is not compiled are held to the same.
"""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.event_parser import EventParser
from shoal.extract.library_parser import TREE_MAX_BYTES, TREE_MAX_TAGS, library_parser
from shoal.extract.page import MAX_HTML_BYTES, MAX_LINKS, read, reading_of
from shoal.extract.parser_choice import PageParser
from shoal.extract.scan_parser import ScanParser
from shoal.extract.tree_parser import TreeParser

TAGS = ["a href=", "a ", "/a>", "b>", "p>", "table>", "svg>", "template>", "script>", "/script>", "!--", "title>"]
MORE_TAGS = ["base href=x>", "meta name=robots content=", "select><option>", "noscript>", "frameset>", "![CDATA["]
LOOSE = ["-->", ">", "<", "&", "&#xD800;", "'", '"', "=", "\0", "\ud800", "é"]
MARKUP = st.sampled_from(["<" + tag for tag in TAGS + MORE_TAGS] + LOOSE)


PARSERS = (ScanParser, library_parser)


def seconds_to_read(html: bytes, parser: Callable[[bytes], PageParser] = ScanParser) -> float:
    started = time.process_time()
    reading_of(parser(html)).text().encode()
    return time.process_time() - started


@given(st.binary(max_size=400))
def test_arbitrary_bytes_are_read(html: bytes) -> None:
    check_all(html)


@given(st.lists(MARKUP, max_size=60))
def test_arbitrary_markup_is_read(parts: list[str]) -> None:
    check_all("".join(parts).encode("utf-8", "surrogatepass"))


def check_all(html: bytes) -> None:
    for source in (ScanParser(html), TreeParser(html), EventParser(html)):
        source.title()
        hrefs, rels = source.links()
        "".join([source.text().decode("utf-8", "replace"), *hrefs, *rels.values(), *source.frames()]).encode()
        for tag, attributes in source.sayings():
            "".join((tag, *attributes, *filter(None, attributes.values()))).encode()


@pytest.mark.parametrize(
    "html",
    [
        b"",
        b"<",
        b"\0" * 100_000,
        b" " * 100_000,
        b"<!--" + b"-" * 100_000,
        b"%PDF-1.7\xff\x00\xfe",
        b"\xed\xa0\x80<a href=\xed\xa0\x80>",
        "<a href=x>".encode("utf-16"),
    ],
)
def test_what_is_no_page_is_read_all_the_same(html: bytes) -> None:
    reading = read(html)
    "".join([reading.text(), *reading.hrefs]).encode()


@pytest.mark.parametrize(
    "make",
    [
        lambda: b"<div>" * 100_000,
        lambda: b"<dl><dd>" * 50_000,
        lambda: b"<div>" * 100_000 + b"</x>" * 100_000,
        lambda: b"<a " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b">",
        lambda: b"<a " + b" ".join(b"a%d='>'" % n for n in range(200_000)) + b">",
        lambda: b"<p>" + b"".join(b"<b x=%d>" % n for n in range(5_000)) + b"<p>x" * 5_000,
        lambda: b"<select>" + b"<option>" * 100_000,
        lambda: b"<a href=x><div>" * 40_000,
    ],
    ids=[
        "deep",
        "deep lists",
        "stray ends",
        "attributes",
        "quoted",
        "formatting",
        "options",
        "links",
    ],
)
@pytest.mark.parametrize("parser", PARSERS)
def test_the_shape_of_a_page_does_not_make_it_dear(
    make: Callable[[], bytes], parser: Callable[[bytes], PageParser]
) -> None:
    assert seconds_to_read(make(), parser) < 2


def test_the_worst_small_page_is_bearable_without_the_scanner() -> None:
    half = TREE_MAX_TAGS // 2 - 1
    rebuilt = b"<p>" + b"".join(b"<b x=%d>" % n for n in range(half)) + b"<p>x" * half
    assert isinstance(library_parser(rebuilt), TreeParser)
    assert seconds_to_read(rebuilt, library_parser) < 2


def test_a_deep_page_is_given_up_at_some_time_without_the_scanner() -> None:
    deep = b"<a href=/near>x</a>" + b"<div>" * 2_000
    short, long = deep + b" " * 200_000 + b"<a href=/far>", deep + b" " * 2_000_000 + b"<a href=/far>"
    assert library_parser(short).links()[0] == ["/near", "/far"]
    assert library_parser(long).links()[0] == ["/near"]
    assert read(long).hrefs == ["/near", "/far"]


def test_a_page_has_at_most_so_many_links_and_the_others_are_counted() -> None:
    most = b"<a href=/x></a>" * MAX_LINKS
    full, over = read(most), read(most + b"<a href=/far></a><a rel=nofollow href=/no></a><iframe src=/frame></iframe>")
    assert (full.hrefs, full.beyond) == (["/x"] * MAX_LINKS, 0)
    assert (over.hrefs, over.beyond, over.nofollowed) == (full.hrefs, 2, 1)


def test_a_nofollow_page_has_no_links_beyond_the_most() -> None:
    reading = read(b"<meta name=robots content=nofollow>" + b"<a href=/x></a>" * (MAX_LINKS + 10))
    assert (reading.hrefs, reading.beyond, reading.nofollowed) == ([], 0, MAX_LINKS + 10)


def test_bytes_beyond_the_cap_are_not_parsed() -> None:
    reading = read(b"<a href=/near>".ljust(MAX_HTML_BYTES) + b"<a href=/far>")
    assert reading.hrefs == ["/near"]


def test_a_big_honest_page_loses_nothing() -> None:
    rows = b"".join(b"<tr><td><b><a href=/%d>n</a></b><td>word" % n for n in range(20_000))
    assert len(rows) > TREE_MAX_BYTES
    reading = read(b"<title>T</title><table>" + rows + b"</table>")
    assert reading.hrefs == [f"/{n}" for n in range(20_000)]
    assert reading.text().split().count("word") == 20_000
