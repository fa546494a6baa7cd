"""Small pages that the libraries behind the formats take minutes and gigabytes for."""

from __future__ import annotations

import time

import pytest

from shoal.extract.format_names import FORMATS
from shoal.extract.make_formats import MadeFormat, make_formats
from shoal.practice.hostile.costly_pages import COSTLY, QUOTES, spanning

URL = "http://site.test/"


@pytest.mark.parametrize("path", COSTLY)
def test_no_format_takes_long_for_a_costly_page(path: str) -> None:
    began = time.process_time()
    made = list(make_formats(COSTLY[path], URL, FORMATS))
    assert time.process_time() - began < 5
    missing = {each.name for each in made if each.why_missing}
    assert missing == ({"main", "markdown", "page_markdown"} if path == QUOTES else set())
    assert all(each.value for each in made if each.name == "main" and not each.why_missing)


def test_a_format_that_is_missing_says_why() -> None:
    (made,) = make_formats(COSTLY[QUOTES], URL, ["markdown"])
    assert made == MadeFormat("markdown", None, "the page was not parsed: its elements are nested more than 128 deep")


def test_the_spans_of_ordinary_tables_are_kept() -> None:
    rows = b"<tr><td colspan=2>both<tr><td>left<td>right"
    (made,) = make_formats(b"<article><p>" + b"Some words. " * 40 + b"<table>" + rows + b"</table>", URL, ["main"])
    assert "| both |  |" in made.value
    (clamped,) = make_formats(spanning(100), URL, ["main"])
    assert "| x |" in clamped.value
