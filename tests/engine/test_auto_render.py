"""What `--render auto` decides by a page, and what it learns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shoal.engine.reading.auto_render import RECHECKED_ONE_IN, AutoRender, render_again
from shoal.engine.request_result import RequestResult
from shoal.fetch.exchange import Exchange, Headers
from shoal.fetch.rendered_page import RenderedPage
from shoal.model import Completion, Lease, Outcome, Trail
from shoal.urls.path_pattern import path_pattern
from tests.frontier.conftest import target

SHELL = b'<!doctype html><title>Shop</title><div id="root"></div><script src="/app.js"></script>'
FULL = b"<!doctype html><title>Shop</title><p>" + b"A long description of a fine chair. " * 60


def lease(n: int = 1, folder: str = "product") -> Lease:
    return Lease(n, "job", target(f"http://a.test/{folder}/{n}.html"), Trail(), 0, 0, 0.0, 0.0, False, 1)


def answer(body: bytes, document: bytes | None = None, kind: str = "text/html") -> Exchange:
    headers = Headers([("Content-Type", kind)])
    rendered = None if document is None else RenderedPage("", document=document)
    return Exchange("http://a.test/", 200, "OK", headers, b"", body, body, "1.1", "", 0.1, 0.0, rendered=rendered)


def done(held: Lease, lacks_items: bool = False) -> RequestResult:
    return RequestResult(held, Completion(held.token, Outcome.DONE), lacks_items=lacks_items)


def render(auto: AutoRender, held: Lease, body: bytes) -> None:
    """The page turned out to need a browser, and was loaded in one."""
    assert render_again(held).completion.needs_browser
    held.needs_browser = True
    auto.learn(held, answer(body, SHELL), done(held))


def test_a_shell_is_rendered_and_a_full_page_is_not() -> None:
    auto = AutoRender()
    assert auto.is_shell(lease(), answer(SHELL)) and not auto.is_shell(lease(), answer(FULL))
    assert not auto.is_shell(lease(), answer(SHELL, kind="application/json"))


def test_a_page_without_items_is_rendered_if_it_has_scripts() -> None:
    auto = AutoRender()
    scripted = answer(FULL + b"<script>load()</script>")
    assert auto.lacks_items(lease(), scripted, done(lease(), lacks_items=True))
    assert not auto.lacks_items(lease(), scripted, done(lease()))
    assert not auto.lacks_items(lease(), answer(FULL), done(lease(), lacks_items=True))


def test_a_page_without_text_gains_by_little_and_one_with_text_does_not() -> None:
    for before, is_gain in ((SHELL, True), (SHELL + b"A page with some text of its own, and a script.", False)):
        auto = AutoRender()
        for n in (1, 2, 3):
            held = lease(n)
            held.needs_browser = True
            auto.learn(held, answer(before + b"Chair 9.90", before), done(held))
        assert auto.at_once(lease(4)) == is_gain


def test_pages_like_those_that_gained_are_rendered_at_once() -> None:
    auto = AutoRender()
    for n in (1, 2):
        assert not auto.at_once(lease(n))
        render(auto, lease(n), FULL)
    assert auto.at_once(lease(3)) and not auto.at_once(lease(3, "about"))
    assert not auto.at_once(lease(RECHECKED_ONE_IN)), "sometimes it looks again"
    for _ in range(2):
        assert not auto.lacks_items(lease(RECHECKED_ONE_IN), answer(FULL), done(lease()))
    assert not auto.at_once(lease(3)), "the site no longer needs it"


def test_pages_like_those_that_gained_nothing_are_left() -> None:
    auto = AutoRender()
    for n in (1, 2, 3):
        assert auto.is_shell(lease(n), answer(SHELL))
        render(auto, lease(n), SHELL)
    assert not auto.is_shell(lease(4), answer(SHELL))
    assert auto.is_shell(lease(RECHECKED_ONE_IN), answer(SHELL))


def test_a_process_without_a_browser_soon_leaves_such_pages_to_others_at_once() -> None:
    auto, other = AutoRender(has_browser=False), AutoRender()
    for n in (1, 2):
        assert not auto.at_once(lease(n)) and auto.is_shell(lease(n), answer(SHELL))
    assert auto.at_once(lease(3)) and not auto.at_once(lease(3, "about"))
    assert not auto.at_once(lease(RECHECKED_ONE_IN)) and not auto.lacks_items(lease(3), answer(FULL), done(lease(3)))
    assert not auto.at_once(lease(3)), "a page that was enough: it looks again"
    handed = replace(lease(3), needs_browser=True)
    assert other.at_once(handed)
    for n in (1, 2, 3):
        render(other, lease(n), SHELL)
    assert not other.at_once(handed) and not other.is_shell(handed, answer(SHELL)), "a browser gains nothing there"


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("/", "/"),
        ("/about", "/*"),
        ("/product/chair-7.html", "/product/*.html"),
        ("/product/", "/product/"),
        ("/2026/11/news", "/*/*/*"),
        ("/a/b/c/d", "/a/b/*"),
        ("/a/b/c/", "/a/b/*"),
        ("/shop?id=7", "/*"),
    ],
)
def test_pages_that_are_alike_have_one_pattern(path: str, pattern: str) -> None:
    assert path_pattern(f"https://a.test{path}") == pattern
