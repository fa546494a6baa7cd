"""Big pages that may be parsed, and those that must not."""

import time

import pytest

from shoal.extract.document import Document
from shoal.extract.extract_errors import UnparsablePage
from shoal.extract.nesting_check import MAX_ATTRIBUTES, MAX_DEPTH, MAX_TAGS, nesting_problem

PARAGRAPHS = b"<p>x" * 50_000


def numbered(unit: bytes, times: int = 5_000) -> bytes:
    return b"".join(unit % number for number in range(times))


@pytest.mark.parametrize(
    ("html", "bound"),
    [
        (b"<div>" * (MAX_DEPTH + 1), "open at once"),
        (b"<dl><dd>" * 50_000, "open at once"),
        (b"<a href=x><div>" * 40_000, "open at once"),
        (b"<a " + b" ".join(b"a%d='>'" % n for n in range(MAX_ATTRIBUTES + 1)) + b">", "attributes"),
        (b"<p>" * (MAX_TAGS + 1), "tags"),
        (b"<div>" * 400 + b"</x>" * 100_000, "multiply"),
        (b"<svg>" + b"<g><![CDATA[></g>]]>" * 1_000, "two ways"),
        (numbered(b"<b x=%d><script><!--<script></script></b>--></script>") + PARAGRAPHS, "two ways"),
        (numbered(b"<div><b x=%d></div>") + PARAGRAPHS, "formatting"),
        (numbered(b"<b x=%d><object></b></object>") + PARAGRAPHS, "formatting"),
        (numbered(b"<table><b x=%d></table>") + PARAGRAPHS, "formatting"),
        (numbered(b"<svg><script><b x=%d></script></svg>") + PARAGRAPHS, "formatting"),
        (numbered(b"<b x=%d><p><![CDATA[<textarea>") + PARAGRAPHS, "open at once"),
        (numbered(b"<td><b x=%d></td>") + PARAGRAPHS, "open at once"),
    ],
)
def test_a_twisted_page_is_refused_with_its_bound(html: bytes, bound: str) -> None:
    started = time.process_time()
    assert bound in (nesting_problem(html) or "")
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "html",
    [
        b"".join(b"<tr><td><b><a href=/%d title='x > y'>n</a></b><td><font>word" % n for n in range(20_000)),
        b"<div><p>text<br><b>bold</b></p></div>" * 20_000,
        b"<script>if (a < b) { '<div><div><b>' }</script>" * 5_000,
        b"<!-- <div><b> --><style>a > b</style><svg><title>t</title><path d='M0 0'/></svg>" * 5_000,
        b"<ul>" + b"<li>item <i>one</i>" * 20_000,
        b"<b><i></b></i>" * 20_000,
    ],
    ids=["cells", "blocks", "scripts", "comments and pictures", "items", "misnested"],
)
def test_an_honest_big_page_is_parsed(html: bytes) -> None:
    assert nesting_problem(b"<table>" + html) is None


def test_an_endless_tag_ends_the_page() -> None:
    assert nesting_problem(b"<a" * 1_000_000) is None
    assert nesting_problem(b"<!--" * 1_000_000) is None
    assert nesting_problem(b"<a b=\"'" * 200_000) is None


def test_a_document_refuses_each_time_it_is_asked() -> None:
    document = Document(b"<div>" * 100_000, "http://x.test/deep")
    for _ in range(2):
        with pytest.raises(UnparsablePage, match=r"http://x\.test/deep .*512 elements"):
            document.css("div")


def test_a_big_page_gives_what_a_small_one_does() -> None:
    page = b"".join(b"<p class=n%d>%d</p>" % (n, n) for n in range(20_000))
    assert Document(page, "http://x.test/").css(".n19999")[0].text == "19999"
