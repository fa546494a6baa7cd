"""The scanner reads a page as lexbor's tree does, on honest pages and on most of the broken ones."""

from __future__ import annotations

from collections.abc import Iterator
from html.entities import html5
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.scan_parser import MOST_MARKS, ScanParser
from shoal.extract.tree_parser import TreeParser
from shoal.practice import Shop, Visit, Wiki
from tests.extract.parser_facts import facts

SAVED = sorted((Path(__file__).parent / "content").glob("*.html"))

TOKENS = [
    *("<a href=/%d>", "<a href='/%d' href=x rel=nofollow>", '<a href="/q%d>">', "<area href=/r%d />", "</a>"),
    *("<a href=?a&copy=%d&lt;>", "<link rel=next href=/l%d>", "<meta name=x content=%d>", "<base href=/b%d>"),
    *("<p>", "</p>", "<b>", "</b>", "<div>", "</div>", "<li>", "</ul>", "<h1>", "<br/>", "<section>", "</section>"),
    *(
        "word%d ",
        "t%d<3 ",
        "&amp;%d",
        "&lt%d",
        "&notit;",
        "&#128;%d",
        "&#x110000;",
        "&ampx",
        "&",
        "&#",
        "&nbsp;",
        "é%d",
    ),
    *("<script>", "</script>", "<scRipt>", "</SCRIPT >", "<script/>", "<style>", "</style>", "<title>T%d", "</title>"),
    *("<!--", "-->", "--!>", "<!-->", "<!--->", "<!x>", "<?y>", "</ >", "</>", "<![CDATA[", "]]>", "<!doctype html>"),
    *("<textarea>", "</textarea>", "<xmp>", "</xmp>", "<iframe src=/f%d>", "</iframe>", "<noembed>", "</noembed>"),
    *("<template>", "</template>", "<head>", "</head>", "<body>", "</body>", "<html lang=l%d>", "</html>"),
    *("<frame src=/fr%d>", "<noframes>", "</noframes>", "<plaintext>", "<span title='x>y' a=\"b\" c=d/>", "<p a=b =c>"),
    *("<x=%d>", "<", "</", "<a", "<!", "=", "'", '"', "\r\n", "\xa0", "\u3000"),
]
FOREIGN = [
    *(
        "<svg>",
        "</svg>",
        "<svg/>",
        "<g>",
        "</g>",
        "<path/>",
        "<style>",
        "</style>",
        "<math>",
        "</math>",
        "<annotation-xml>",
    ),
    *("</annotation-xml>", "<font color=x>", "<font>", "<p>", "<textarea>", "</x>", "<html lang=x>", "<script>"),
    *("</script>", "<template>", "</template>", "<a href=/%d>", "</a>", "<a href=/%d />", "word%d ", "&lt;", "<!-->"),
]


def assert_agree(html: bytes) -> None:
    assert facts(ScanParser(html)) == facts(TreeParser(html))


def practice_pages(site: Shop | Wiki) -> Iterator[bytes]:
    for host, expected in site.truth().items():
        for path in expected.pages:
            answer = site.answer(Visit(host, 80, "GET", path, *(path.partition("?")[::2]), headers={}))
            if answer.content_type.startswith("text/html") and answer.raw is None:
                yield answer.body


def test_both_read_the_pages_of_the_practice_sites_alike() -> None:
    shop, wiki = list(practice_pages(Shop(hosts=2))), list(practice_pages(Wiki()))
    assert len(shop) > 100 and len(wiki) > 100
    for page in shop:
        assert_agree(page)
    for page in wiki:
        # One has cells without a table, whose tags a tree drops.
        assert facts(ScanParser(page)).without_spaces() == facts(TreeParser(page)).without_spaces()


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_both_read_saved_pages_alike(path: Path) -> None:
    assert_agree(path.read_bytes())


def page_of(tokens: list[str]) -> bytes:
    return "".join(token.replace("%d", str(place)) for place, token in enumerate(tokens)).encode()


@given(st.lists(st.sampled_from(TOKENS), max_size=12))
def test_both_read_broken_pages_alike(tokens: list[str]) -> None:
    page = page_of(tokens)
    assert facts(ScanParser(page)).without_spaces() == facts(TreeParser(page)).without_spaces()


@given(st.lists(st.sampled_from(FOREIGN), max_size=9))
def test_both_read_broken_drawings_alike(tokens: list[str]) -> None:
    page = b"<title>T</title><svg>" + page_of(tokens)
    assert facts(ScanParser(page)).without_spaces() == facts(TreeParser(page)).without_spaces()


def test_both_know_every_character_reference_in_text_and_in_attributes() -> None:
    for name in html5:
        for after in ("", ";", "x", "=", " "):
            assert_agree(f"<p>a&{name}{after}b<a href='&{name}{after}'>".encode())


@pytest.mark.parametrize("number", [0, 9, 13, 0x7F, *range(0x80, 0xA0), 0xD800, 0xFFFF, 0x10FFFF, 0x110000, 1 << 64])
def test_both_know_every_number_of_a_character(number: int) -> None:
    assert_agree(f"<p>a&#{number};b&#x{number:x};c&#X{number:X}d<a href='&#{number}&#x{number:x};'>".encode())


@pytest.mark.parametrize(
    "html",
    [
        b"<script><!-- <script> '</script><a href=/no>' --></script><a href=/yes>",
        b"<script><!--><script></script><a href=/yes>",
        b"<script><!-- <script </script> --></script><a href=/yes>",
        b"<script><!-- <scripts></script><a href=/yes>",
        b"<script></scripty></script ><a href=/yes>",
        b"<title>&lt;b></title x='>'><body>x<title>&amp;</title>",
        b"<head><noscript><link rel=next href=/n></noscript><title>T</title><noscript><img src=/i></noscript>x",
        b"<svg><style>a{}</style><![CDATA[<a href=/no>]]></svg><![CDATA[x]]><style>b</style>y",
        b"<svg><title><style><a href=/no></style></title><style><a href=/yes></svg><a href=/yes>",
        b"<svg><foreignObject><div><a href=/a></a><style>x</style></div></foreignObject><style>y</style>z</svg>z",
        b"<svg><a><foreignObject><a></a></foreignObject></a><textarea><a href=/yes></svg><textarea><a href=/no>",
        b"<math><mi><style>a</style></mi><style>b</math>c<math><annotation-xml><style>d",
        b"<math><annotation-xml encoding=text/html><style>a<p></style>b</annotation-xml><![CDATA[<p>]]></math>",
        b"<math><annotation-xml><svg><desc><style>a<p></style>b</desc></svg></annotation-xml></math>",
        b"<a href=/a\r\nb&#13;c>",
        b"<a href='/&lt\0&\0x&am\0p;'>",
    ],
)
def test_both_read_these_alike(html: bytes) -> None:
    assert_agree(html)


@pytest.mark.parametrize(
    ("html", "hrefs", "text"),
    [
        ("<table>a<tr><td>b</table>", [], "a b"),
        ("<p><noscript><p>x</noscript>y", [], "y"),
        ("<select><option>a<a href=/x>b</select>c", ["/x"], "a b c"),
        ("<p><a href=/x>a<p>b<p>c", ["/x"], "a b c"),
        ("a</b>b", [], "a b"),
        ("<div><frameset><frame src=/f></frameset>a", [], "a"),
        ("<svg></div><style>a</style>b", [], "b"),
        ("<svg><desc><g></svg><style>a</style>b", [], "b"),
        ("<math><title>a</title></math>", [], "a"),
    ],
)
def test_what_a_tree_repairs_is_taken_as_it_is_written(html: str, hrefs: list[str], text: str) -> None:
    scanned = facts(ScanParser(html.encode()))
    assert (scanned.hrefs, scanned.text, scanned.title) == (hrefs, text, "")


def test_without_text_the_rest_is_the_same() -> None:
    html = b"<html lang=de><title>T</title><a href=/x rel=nofollow>a</a><iframe src=/f>"
    assert facts(ScanParser(html, has_text=False)) == facts(ScanParser(html))._replace(text="")


def test_no_more_is_kept_of_a_page_than_a_reading_takes() -> None:
    hrefs, _ = ScanParser(b"<a href=/x>" * (MOST_MARKS + 5)).links()
    assert len(hrefs) == MOST_MARKS
