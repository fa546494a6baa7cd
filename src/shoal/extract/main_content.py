"""Finds the main content of a page as HTML: without navigation, sidebars, buttons and the like, and with the language
of code where a converter to markdown looks for it.

It knows the markup of common generators: Sphinx, MkDocs, Docusaurus, Jekyll, WordPress and GitHub.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from shoal.extract.elements import text_of

CONTENT = (
    ".markdown-body",
    ".theme-doc-markdown",
    "article.md-content__inner",
    "[itemprop=mainEntity] article",
    "article",
    "[role=main]",
    "main",
    "#content",
    "#main",
)
"""Where the content is, the narrowest first."""
MIN_SHARE = 0.4
"""Share of the page's text, without navigation, that the content must have."""

_NOISE = (
    "script, style, noscript, template, nav, footer, form, button, svg, iframe, select, clipboard-copy, "
    "input:not([type=checkbox]), .linenos, .lineno, .linenodiv, td.gutter, .line-numbers-rows, .hljs-ln-numbers, "
    "[hidden], [role=navigation], [role=search], [role=complementary], [role=contentinfo], [role=banner]"
)
_NOISE_NAMES = re.compile(
    r"(?:^|[-_])(?:breadcrumbs?|toc|tableofcontents|pagination|pager|sidebar|related|share|sharing|social|comments?|"
    r"respond|cookies?|newsletter|copybtn|skip|sr|visually|advert|ads|promo)(?:$|[-_])|"
    r"edit-this-page|edit-link|editlink|table-of-contents|post-navigation|doc-footer|screen-reader|source-file|"
    r"content__button"
)
_NOTES = re.compile(r"note|admonition|callout|topic|footnote|aside|warning|tip|info|danger|caution")
"""An `aside` with such a class belongs to the text."""
_ANCHOR_SIGNS = frozenset(("", "#", "¶", "§", "🔗", "link", "permalink", "link to this heading"))
_LANGUAGE = re.compile(r"^(?:language-|lang-|highlight-source-|highlight-text-|highlight-|brush:)(.+)$")
_NO_LANGUAGES = frozenset(("default", "none", "notranslate", "highlighter-rouge", "plaintext", "text", "source"))
_ALIASES = {"ipython3": "python", "python3": "python", "html-basic": "html", "pycon3": "pycon"}
_LEVELS = 8
"""How far around a block of code its language may be."""


class MainContent(NamedTuple):
    html: str
    stands_out: bool
    """False: it is the whole body, without what is known as noise."""


def main_content(html: bytes) -> MainContent | None:
    """None if the page has no text. `html` is UTF-8."""
    tree = LexborHTMLParser(html)
    body = tree.body
    if body is None:
        return None
    heading = body.css_first("h1")
    title = " ".join(heading.text().split()).rstrip("¶#§ ") if heading is not None else ""
    _name_languages(body)
    _remove_noise(body)
    content = _content(body)
    _remove_anchors(content)
    _unwrap_code_tables(content)
    text = content.html or ""
    if title and content.css_first("h1") is None:
        text = f"<h1>{escape(title)}</h1>{text}"
    return MainContent(text, content.tag != "body") if content.text().strip() else None


def _content(body: LexborNode) -> LexborNode:
    total = len(text_of(body))
    for selector in CONTENT:
        found = body.css(selector)
        # Several articles are a list of posts: the element around them is the content.
        if len(found) == 1 and len(text_of(found[0])) >= MIN_SHARE * total:
            return found[0]
    for header in body.css("body > header"):
        header.decompose()
    return body


def _remove_noise(body: LexborNode) -> None:
    for node in body.css(_NOISE):
        # A page of an old kind is one big form.
        if node.tag != "form" or not node.css_first("h1, h2, article, main"):
            node.decompose()
    total = len(text_of(body))
    in_code = {node.mem_id for node in body.css("pre *")}
    for node in body.css("[class], aside"):
        # Code has names such as `comment` for its colours.
        if node.mem_id not in in_code and _is_noise(node) and len(text_of(node)) < total / 2:
            node.decompose()


def _is_noise(node: LexborNode) -> bool:
    if node.tag in ("body", "html", "main", "article", "pre", "code", "h1", "h2", "h3"):
        return False
    # Not its id: that of a section is made of its heading, which may be "Cookies".
    names = (node.attributes.get("class") or "").lower().split()
    if node.tag == "aside":
        return not any(_NOTES.search(name) for name in names)
    return any(_NOISE_NAMES.search(name) for name in names)


def _remove_anchors(content: LexborNode) -> None:
    """Links of headings to themselves."""
    for link in content.css(":is(h1, h2, h3, h4, h5, h6) a"):
        if link.text().strip(" \n\t\N{ZERO WIDTH SPACE}").lower() in _ANCHOR_SIGNS:
            link.decompose()


def _unwrap_code_tables(content: LexborNode) -> None:
    """Code with line numbers is a table in some pages; the cell with the numbers is gone already."""
    for table in content.css("table"):
        blocks = table.css("pre")
        if len(blocks) == 1 and text_of(blocks[0]) == text_of(table):
            table.insert_before(blocks[0])
            table.decompose()


def _name_languages(body: LexborNode) -> None:
    for block in body.css("pre"):
        language = next((name for place in _around(block) if (name := _language(place))), None)
        if language is not None:
            for place in (block, block.css_first("code")):
                if place is not None:
                    place.attrs["class"] = f"language-{language}"


def _around(block: LexborNode) -> Iterator[LexborNode]:
    code = block.css_first("code")
    if code is not None:
        yield code
    place: LexborNode | None = block
    for _ in range(_LEVELS):
        if place is None or place.tag == "body":
            return
        yield place
        place = place.parent


def _language(node: LexborNode) -> str | None:
    names = (node.attributes.get("class") or "").split()
    if "sourceCode" in names:
        return next((name for name in names if name != "sourceCode"), None)
    given = [node.attributes.get("lang") or "", node.attributes.get("data-lang") or ""] if node.tag == "code" else []
    given += [match[1] for name in names if (match := _LANGUAGE.match(name))]
    known = (_ALIASES.get(name.lower(), name.lower()) for name in given if name)
    return next((name for name in known if name not in _NO_LANGUAGES), None)
