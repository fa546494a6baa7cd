"""The main content as markdown, on pages in the style of common generators. `content/` has the pages, and the markdown
that each must give."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.extract.main_content import main_content
from shoal.extract.readable_text import main_markdown, to_markdown

URL = "https://site.example/docs/page.html"
PAGES = sorted((Path(__file__).parent / "content").glob("*.html"))
LONG = "<p>A long text about something that is of interest to those who read it.</p>"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_content_of_a_page_becomes_markdown(page: Path) -> None:
    assert main_markdown(page.read_bytes(), URL) == page.with_suffix(".md").read_text()


def test_the_whole_page_has_the_rest_too() -> None:
    page = next(page for page in PAGES if page.stem == "mkdocs").read_bytes()
    assert "Material for MkDocs" in to_markdown(page, URL)
    assert "Material for MkDocs" not in main_markdown(page, URL)


def test_comments_in_code_are_no_comments_of_readers() -> None:
    code = '<pre><code class="hljs language-js"><span class="hljs-comment">// why</span>\nf()</code></pre>'
    page = f'<main>{LONG}{code}<div class="comments">Nice!</div></main>'
    markdown = main_markdown(page.encode(), URL)
    assert "```js\n// why\nf()\n```" in markdown and "Nice!" not in markdown


def test_a_section_named_like_a_part_of_a_layout_stays() -> None:
    page = f'<main>{LONG}<section id="cookies"><h2 id="comments">Cookies</h2><p>We set none.</p></section></main>'
    assert "## Cookies\n\nWe set none." in main_markdown(page.encode(), URL)


def test_notes_beside_the_text_stay_and_sidebars_go() -> None:
    page = f'<main>{LONG}<aside class="note">Mind the gap</aside><aside class="toc">Contents</aside></main>'
    markdown = main_markdown(page.encode(), URL)
    assert "Mind the gap" in markdown and "Contents" not in markdown


def test_a_list_of_posts_has_all_of_them() -> None:
    posts = "".join(f"<article><h2>Post {n}</h2>{LONG}</article>" for n in range(3))
    markdown = main_markdown(f"<nav>Menu</nav><main>{posts}</main>".encode(), URL)
    assert [f"## Post {n}" in markdown for n in range(3)] == [True] * 3 and "Menu" not in markdown


def test_a_small_article_is_not_the_content() -> None:
    page = f"<body>{LONG * 5}<article>An advertisement</article></body>"
    assert "of interest" in main_markdown(page.encode(), URL)


def test_the_heading_of_the_page_is_kept() -> None:
    page = f"<header><h1>Kettles</h1></header><main>{LONG}</main>"
    assert main_markdown(page.encode(), URL).startswith("# Kettles\n\nA long text")


@pytest.mark.parametrize("page", [b"", b"<nav>only a menu</nav>", b"<html></html>"])
def test_a_page_without_content_is_taken_whole(page: bytes) -> None:
    assert main_content(page) is None
    assert main_markdown(page, URL) == to_markdown(page, URL)
