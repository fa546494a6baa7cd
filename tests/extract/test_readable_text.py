"""A page for reading."""

import sys

import pytest

from shoal.errors import UsageError
from shoal.extract.document import Document
from shoal.extract.readable_text import main_text, to_markdown

PARAGRAPH = "A paragraph that goes on for a good while, so that no one could take it for a menu, until it ends."
ARTICLE = (
    f"<nav><ul>{'<li><a href=/>Home and away</a>' * 20}</ul></nav><article><h1>Title</h1>"
    f"<p>{PARAGRAPH}</p><p>{PARAGRAPH} <a href='/more'>More</a></p></article><footer><p>Imprint</p></footer>"
).encode()


def test_markdown_has_headings_and_absolute_links() -> None:
    markdown = to_markdown(ARTICLE, "http://x.test/p/")
    assert "# Title" in markdown
    assert "[More](http://x.test/more)" in markdown


@pytest.mark.parametrize(
    "html", [b"", b"\xff\xfe\0", b"<div>" * 50_000, b"<ul><li>" * 5_000, b"<table><td colspan=9999999>"]
)
def test_markdown_never_fails_on_junk(html: bytes) -> None:
    to_markdown(html, "http://x.test/").encode()


def test_main_text_is_without_navigation() -> None:
    text = main_text(Document(ARTICLE, "http://x.test/"), ARTICLE)
    assert text.count(PARAGRAPH) == 2
    assert "Home" not in text


def test_main_text_needs_no_further_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    text = main_text(Document(ARTICLE, "http://x.test/"), ARTICLE)
    assert text.splitlines() == ["Title", PARAGRAPH, PARAGRAPH + " More"]


def test_markdown_says_which_package_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "html_to_markdown", None)
    with pytest.raises(UsageError, match=r"pip install 'shoal\[text\]'"):
        to_markdown(ARTICLE, "http://x.test/")


@pytest.mark.parametrize(
    "part",
    [
        "<div><span>boolean</span><div>Returns the value of the thing.</div></div>",
        "<div class=method><pre>public boolean</pre><div class=block>Returns the value of the thing.</div></div>",
        "<dl><dt>boolean</dt><dd>Returns the value of the thing.</dd></dl>",
        "<table><tr><td>boolean</td><td>Returns the value of the thing.</td></tr></table>",
        "<ul><li><a href=x>boolean</a><p>Returns the value of the thing.</p></li></ul>",
    ],
)
def test_no_paragraph_is_lost_and_no_words_are_glued(part: str) -> None:
    filler = "".join(f"<p>{PARAGRAPH} {n}</p>" for n in range(8))
    html = (
        f"<nav><a href=/>Home</a></nav><main><h1>T</h1>{filler}{part}{filler}</main><footer>Imprint</footer>".encode()
    )
    text = main_text(Document(html, "http://x.test/"), html)
    assert "boolean" in text and "Returns the value of the thing." in text and "booleanReturns" not in text
    assert text.count(PARAGRAPH) == 16 and "Home" not in text and "Imprint" not in text
