"""Opens a page in the user's browser, from a file, so that it looks as it did when it was fetched."""

from __future__ import annotations

import re
import tempfile
import webbrowser
from html import escape
from pathlib import Path

from shoal.extract.html_tags import HTML_TYPES
from shoal.spiders.page import Page

_HEAD = re.compile(rb"<head(\s[^>]*)?>", re.IGNORECASE)
_MARK = b"\xef\xbb\xbf"
"""Tells a browser that the file is UTF-8, whatever the page declares."""


def view_in_browser(page: Page) -> tuple[Path, bool]:
    """The file, which stays there, and whether a browser was found."""
    path = _written(page)
    return path, webbrowser.open(path.as_uri())


def _written(page: Page) -> Path:
    is_html = page.content_type in HTML_TYPES
    suffix = ".html" if is_html else ".json" if "json" in page.content_type else ".txt"
    with tempfile.NamedTemporaryFile("wb", prefix="shoal-", suffix=suffix, delete=False) as file:
        file.write(_MARK + _with_base(page) if is_html else page.html or page.body)
    return Path(file.name)


def _with_base(page: Page) -> bytes:
    """The page's own <base> comes later and so does not count; it is made absolute by the URL that counts."""
    html = page.html or page.body
    base = f'<base href="{escape(page.base_url)}">'.encode()
    head = _HEAD.search(html)
    return html[: head.end()] + base + html[head.end() :] if head else base + html
