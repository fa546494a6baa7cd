"""What a reading takes from honest pages, by each parser."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.event_parser import EventParser
from shoal.extract.library_parser import TREE_MAX_BYTES, library_parser
from shoal.extract.page import MAX_DESCRIPTION, MAX_TEXT, MAX_TITLE, PageReading, reading_of
from shoal.extract.parser_choice import choose_parser
from shoal.extract.scan_parser import ScanParser
from shoal.extract.tree_parser import TreeParser

ReadPage = Callable[..., PageReading]


@pytest.fixture(params=[ScanParser, TreeParser, EventParser])
def read_page(request: pytest.FixtureRequest) -> ReadPage:
    return lambda html, header_robots="": reading_of(request.param(html.encode()), header_robots)


def test_the_scanner_reads_every_page_and_without_it_the_size_decides() -> None:
    small, big = b"<p>", b"<p>".ljust(TREE_MAX_BYTES + 1)
    assert isinstance(choose_parser(small, True), ScanParser) and isinstance(choose_parser(big, True), ScanParser)
    assert isinstance(library_parser(small), TreeParser) and isinstance(library_parser(big), EventParser)


@pytest.mark.parametrize(
    ("html", "hrefs"),
    [
        ("<a href=/a>A</a><area href=/b><a name=here>", ["/a", "/b"]),
        ("<iframe src=/inner></iframe>", ["/inner"]),
        ("<frameset><frame src=/left><frame src=/right></frameset>", ["/left", "/right"]),
        ("<a href='/a?x=1&amp;y=2'>", ["/a?x=1&y=2"]),
        ("<A HREF=/a>", ["/a"]),
        ("<a href=/a></a><a href=/a></a>", ["/a", "/a"]),
        ("<a href></a><a href=''></a>", []),
        ("<a href=/a#b><a href='/?a&amp;b&#35;c'><a href=#d><a href='#'><a href=/#e>", ["/a", "/?a&b", "#", "#", "/"]),
        ("<a href='/a #b'><a href='http:#c'><a href='/é#d'><a href='/a#é'>", ["/a #b", "http:#c", "/é#d", "/a#é"]),
        ("<a href=' /a b '>", [" /a b "]),
        ("<link rel=next href=/2><link rel='PREV nice' href=/0>", ["/2", "/0"]),
        ("<link rel=alternate hreflang=de href=/de><link rel=canonical href=/c>", ["/de", "/c"]),
        ("<link rel=alternate type='TEXT/html; charset=x' href=/h><link rel=alternate type='' href=/e>", ["/h", "/e"]),
        ("<link rel=alternate type=application/rss+xml href=/feed>", ["/feed"]),
        ("<link rel=alternate type=application/json href=/j><link rel=contents type=text/plain href=/p>", []),
        ("<link rel=alternate type=text/xml+oembed href=/o><a type=text/plain href=/a>", ["/a"]),
        ("<link rel=stylesheet href=/s.css><link rel='alternate stylesheet' href=/t.css>", []),
        ("<link rel=icon href=/i><link rel=preload href=/p><link rel=manifest href=/m><link href=/x>", []),
        ("<meta http-equiv=refresh content='0;url=/new'><a href=/a>", ["/a", "/new"]),
        ("<noscript><a href=/plain>x</a></noscript>", ["/plain"]),
        ("<template><a href=/t>x</a></template><a href=/u>", ["/u"]),
        ("<script>'<a href=/s>'</script><!-- <a href=/c> --><textarea><a href=/t></textarea>", []),
        ("<table><tr><td><a href=/cell>x</table>", ["/cell"]),
        ("<iframe src=/f></iframe><a href=/a>x</a><link rel=next href=/n>", ["/n", "/a", "/f"]),
    ],
)
def test_hrefs_are_what_may_be_followed_relations_first_then_links_then_frames(
    read_page: ReadPage, html: str, hrefs: list[str]
) -> None:
    assert read_page(html).hrefs == hrefs


def test_metadata_is_read(read_page: ReadPage) -> None:
    reading = read_page(
        "<!doctype html><html lang=de-CH><head><title> A\n <b>&amp; B </title><title>Second</title>"
        "<base target=_top><base href=/x/><base href=/y/>"
        "<meta name=Description content=' Some\n words '><meta name=description content=later>"
        "<link rel=canonical href=/c1><link rel=canonical href=/c2></head><body>"
    )
    assert reading.title == "A <b>& B"
    assert reading.language == "de-CH"
    assert reading.base == "/x/"
    assert reading.description == "Some words"
    assert reading.canonical == "/c1"


def test_absent_metadata_is_none(read_page: ReadPage) -> None:
    reading = read_page("<title> </title><meta name=description content=' '><p>text")
    assert reading.title is None
    assert (reading.description, reading.language, reading.base) == (None, None, None)
    assert (reading.canonical, reading.refresh) == (None, None)
    assert (reading.noindex, reading.nofollow, reading.nofollowed) == (False, False, 0)


def test_a_caption_of_a_picture_is_no_title(read_page: ReadPage) -> None:
    assert read_page("<body><svg><g><title>Arrow</title></g></svg>").title is None


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>One\n  two</p><p>three</p>", "One two three"),
        ("<li>a</li><li>b</li>", "a b"),
        ("x<script>s</script><style>t</style><noscript><style>u</style>n</noscript>y", "x y"),
        ("x<template><p>hidden</p></template>y<!-- comment -->", "x y"),
        ("AT&amp;T &lt;3", "AT&T <3"),
        ("<title>Title</title><body>Body", "Body"),
        ("<frameset><frame src=x></frameset>", ""),
        ("", ""),
    ],
)
def test_text_is_what_a_reader_sees(read_page: ReadPage, html: str, text: str) -> None:
    reading = read_page(html)
    assert reading.text() == text
    assert reading.text() == text


def test_long_values_are_cut(read_page: ReadPage) -> None:
    reading = read_page(
        f"<title>{'t' * 2_000}</title><meta name=description content='{'d' * 9_000}'><body>{'w ' * 600_000}"
    )
    assert reading.title == "t" * MAX_TITLE
    assert reading.description == "d" * MAX_DESCRIPTION
    assert len(reading.text()) == MAX_TEXT


def test_links_with_rel_nofollow_are_counted_not_given(read_page: ReadPage) -> None:
    reading = read_page("<a href=/a rel='noopener NoFollow'><a href=/b rel=noopener><a rel=nofollow>")
    assert reading.hrefs == ["/b"]
    assert reading.nofollowed == 1


def test_a_nofollow_page_gives_no_links_even_those_before_it_said_so(read_page: ReadPage) -> None:
    reading = read_page("<a href=/a><a href=/b rel=nofollow><meta name=robots content=nofollow><a href=/c>")
    assert reading.nofollow
    assert reading.hrefs == []
    assert reading.nofollowed == 3


def test_a_header_counts_like_a_meta_element(read_page: ReadPage) -> None:
    reading = read_page("<meta name=shoal content=noindex><a href=/a>", "nofollow")
    assert (reading.noindex, reading.nofollow, reading.nofollowed) == (True, True, 1)


@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="#"), min_size=1),
        max_size=30,
    )
)
def test_hrefs_of_a_generated_page_come_back(hrefs: list[str]) -> None:
    def quoted(href: str) -> str:
        return href.replace("&", "&amp;").replace('"', "&quot;")

    html = "".join(f'<p class="x"><a id=y href="{quoted(href)}">z</a></p>' for href in hrefs).encode()
    for parser in (ScanParser, TreeParser, EventParser):
        assert reading_of(parser(html)).hrefs == hrefs
