"""Manuals from packages, cut to the pages that a benchmark crawls."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.manual_site import Manual
from benchmarks.measure import CannotMeasure
from benchmarks.site import address

PAGES = {
    "index.html": '<link href="search.html"><a class="internal" href="library/os.html#top">os</a> '
    '<a href="https://example.com/">out</a>',
    "search.html": "only a link element leads here",
    "library/os.html": '<a href="../index.html">home</a> <a href=\'sys.html\'>sys</a> <img src="../logo.png">',
    "library/sys.html": '<a href="os.html">os</a> <a href="../../other/index.html">above</a>',
    "unlinked.html": "nothing leads here",
}


@pytest.fixture
def manual(tmp_path: Path) -> Manual:
    for name, page in PAGES.items():
        file = tmp_path / "tool-doc" / "html" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page)
    return Manual("tool-doc", "tool-doc/html", tmp_path)


def test_the_nearest_pages_are_taken_and_links_to_others_are_cut(manual: Manual, tmp_path: Path) -> None:
    manual.build(tmp_path / "site", 2, address)
    site = {str(file.relative_to(tmp_path / "site")): file.read_text() for file in (tmp_path / "site").rglob("*.html")}
    assert site == {
        "index.html": '<link href="#"><a class="internal" href="library/os.html#top">os</a> <a href="#">out</a>',
        "library/os.html": '<a href="/">home</a> <a href="#">sys</a> <img src="#">',
    }
    manual.build(tmp_path / "site", 3, address)
    assert len(list((tmp_path / "site").rglob("*.html"))) == 3


def test_a_manual_with_too_few_pages_is_refused(manual: Manual, tmp_path: Path) -> None:
    with pytest.raises(CannotMeasure, match="tool-doc has only 3 pages"):
        manual.build(tmp_path / "site", 4, address)
