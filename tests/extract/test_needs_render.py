"""Which pages are taken for empty shells: labelled samples, the practice site, and bytes that mean harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract import _scan_page
from shoal.extract.needs_render import MAX_BYTES, needs_render
from shoal.extract.page_statistics import MAX_TAGS, page_statistics, shows_enough
from shoal.practice import HostileScripts, Shop, Visit, scripted
from tests.extract.render_samples import COMPLETE, SHELLS, page

COMPLETE_APP_PAGES = {"/app/plain.html", "/app/either.html", "/app/frames.html"}
TAGS = (
    "<div id=root>",
    "<div>",
    "</div>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<",
    ">",
    "x",
    " ",
    "<p",
    "<x-y>",
    "'",
    '"',
)
COUNTED = (
    *TAGS,
    *("<a href=/1>", '<A class="x" HREF = "/2">', "<a data-href=/3 href='#x'>", '<a/href="mailto:x">', "<a href>"),
    *("<a href='&nbsp;", "&NBSP;", "&nbsp", "\v", "\0", "é", "word ", "<SCRIPT>", "</scripted>", "<!-->", "--->"),
    *("<?", "</ ", "<title>", "<Svg/>", "</SVG>", "<", "hrefhref = =", "<ahref=/1>", "<é>", "\n"),
)


@pytest.mark.parametrize("name", SHELLS)
def test_a_shell_needs_a_browser(name: str) -> None:
    assert needs_render(SHELLS[name].encode())


@pytest.mark.parametrize("name", COMPLETE)
def test_a_complete_page_needs_none(name: str) -> None:
    assert needs_render(COMPLETE[name].encode()) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("react", "hollow mount"),
        ("plea in german", "noscript plea"),
        ("flutter", "little text"),
        ("redirect by script", "script redirect"),
        ("declared shadow root", "declared shadow root"),
    ],
)
def test_the_reason_is_told(name: str, reason: str) -> None:
    assert needs_render(SHELLS[name].encode()) == reason


def _body(shop: Shop, path: str) -> bytes:
    return shop.answer(Visit("127.0.0.1", 80, "GET", path, path, "", {})).body


@pytest.mark.parametrize("path", [*scripted.LIST_PAGES, "/app/moved.html", "/app/login.html", "/app/orders.html"])
def test_pages_by_script_of_the_practice_site_need_a_browser(path: str) -> None:
    shop = Shop(hosts=1)
    assert bool(needs_render(_body(shop, path))) == (path not in COMPLETE_APP_PAGES)


def test_no_page_of_the_plain_shop_needs_a_browser() -> None:
    shop = Shop(hosts=1)
    assert not [path for path in shop.truth()["127.0.0.1"].pages if needs_render(_body(shop, path))]


def test_a_good_page_among_attacks_needs_a_browser() -> None:
    visit = Visit("127.0.0.1", 80, "GET", "/good/1.html", "/good/1.html", "", {})
    assert needs_render(HostileScripts().answer(visit).body) == "hollow mount"


def test_a_long_page_is_judged_by_its_beginning_only() -> None:
    shell = SHELLS["react"].encode()
    assert needs_render(shell + b" " * MAX_BYTES) is None
    assert needs_render(shell + b" " * (MAX_BYTES - 2 * len(shell)))


@pytest.mark.parametrize(
    "piece", ["<a ", "<!--", "<script>", "<noscript>", "</", "<!", "<x-y id=root>", "<div id=app", "&nbsp;"]
)
def test_pieces_repeated_a_million_times_end(piece: str) -> None:
    """Any of them would take hours if its cost grew with the square."""
    needs_render(page(f"<script src=a.js></script><p>{piece * (MAX_BYTES // len(piece) - 100)}").encode())


def test_so_many_tags_and_no_more_are_looked_at() -> None:
    seen = page_statistics(b"<input>" * (2 * MAX_TAGS), 1, 1)
    assert (seen.fields, seen.is_enough) == (MAX_TAGS, False)


@given(st.lists(st.sampled_from(TAGS)).map("".join))
def test_any_order_of_tags_is_judged(html: str) -> None:
    assert needs_render(html.encode()) in (None, "hollow mount", "little text", "script redirect", "noscript plea")


@given(st.lists(st.sampled_from(COUNTED), max_size=40).map("".join), st.integers(0, 12), st.integers(0, 5))
def test_the_scanner_counts_as_the_statistics_do(html: str, text: int, links: int) -> None:
    page = html.encode()
    for bounds in ((len(page), 30, text + 1, links + 1), (len(page) // 2, 6, 3 * text, 99), (99, 3, 99, links)):
        assert _scan_page.shows_enough(page, *bounds) == shows_enough(page, *bounds)


HIDDEN = "<script>{}</script>", "<noscript>{}</noscript>", "<!--{}-->", "<template>{}"


@pytest.mark.parametrize("hidden", [*HIDDEN, "{}"])
def test_many_links_are_content_unless_they_are_hidden(hidden: str) -> None:
    links = "".join(f'<a class="x" href="/{n}"></a>' for n in range(50))
    page = f'<!doctype html><script src="/app.js"></script>{hidden.format(links)}<div id="root"></div>'
    assert (needs_render(page.encode()) is None) == (hidden == "{}")
