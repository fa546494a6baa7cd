"""What `--render auto` decides by a page, and what it learns."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shoal.browser.browser_fetcher import BrowserFetcher
from shoal.browser.browser_pool import BrowserPool
from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.learnt_counts import LearntCounts
from shoal.engine.reading.auto_render import RECHECKED_ONE_IN, AutoRender
from shoal.engine.request_result import RequestResult, in_browser
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.exchange import Exchange, Headers
from shoal.fetch.rendered_page import RenderedPage
from shoal.model import Completion, Lease, Outcome, Render, Trail
from shoal.store.store import Store
from shoal.urls.path_pattern import path_pattern
from tests.engine.conftest import Field, spec
from tests.engine.stored_counts import stored
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
    assert in_browser(held).completion.needs_browser
    held.needs_browser = True
    auto.learn(held, answer(body, SHELL), done(held))


def test_a_shell_is_rendered_and_a_full_page_is_not() -> None:
    auto = AutoRender(LearntCounts())
    assert auto.is_shell(lease(), answer(SHELL)) and not auto.is_shell(lease(), answer(FULL))
    assert not auto.is_shell(lease(), answer(SHELL, kind="application/json"))


def test_a_page_without_items_is_rendered_if_it_has_scripts() -> None:
    auto = AutoRender(LearntCounts())
    scripted = answer(FULL + b"<script>load()</script>")
    assert auto.lacks_items(lease(), scripted, done(lease(), lacks_items=True))
    assert not auto.lacks_items(lease(), scripted, done(lease()))
    assert not auto.lacks_items(lease(), answer(FULL), done(lease(), lacks_items=True))


def test_a_page_without_text_gains_by_little_and_one_with_text_does_not() -> None:
    for before, is_gain in ((SHELL, True), (SHELL + b"A page with some text of its own, and a script.", False)):
        auto = AutoRender(LearntCounts())
        for n in (1, 2, 3):
            held = lease(n)
            held.needs_browser = True
            auto.learn(held, answer(before + b"Chair 9.90", before), done(held))
        assert auto.at_once(lease(4)) == is_gain


def test_pages_like_those_that_gained_are_rendered_at_once() -> None:
    auto = AutoRender(LearntCounts())
    for n in (1, 2):
        assert not auto.at_once(lease(n))
        render(auto, lease(n), FULL)
    assert auto.at_once(lease(3)) and not auto.at_once(lease(3, "about"))
    assert not auto.at_once(lease(RECHECKED_ONE_IN)), "sometimes it looks again"
    for _ in range(2):
        assert not auto.lacks_items(lease(RECHECKED_ONE_IN), answer(FULL), done(lease()))
    assert not auto.at_once(lease(3)), "the site no longer needs it"


def test_pages_like_those_that_gained_nothing_are_left() -> None:
    auto = AutoRender(LearntCounts())
    for n in (1, 2, 3):
        assert auto.is_shell(lease(n), answer(SHELL))
        render(auto, lease(n), SHELL)
    assert not auto.is_shell(lease(4), answer(SHELL))
    assert auto.is_shell(lease(RECHECKED_ONE_IN), answer(SHELL))


def test_a_process_without_a_browser_soon_leaves_such_pages_to_others_at_once() -> None:
    auto, other = AutoRender(LearntCounts(), lambda: False), AutoRender(LearntCounts())
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


def test_a_process_whose_browser_is_away_leaves_such_pages_to_others_until_it_is_back() -> None:
    has_browser = False
    auto = AutoRender(LearntCounts(), lambda: has_browser)
    for n in (1, 2):
        assert auto.is_shell(lease(n), answer(SHELL))
    assert auto.at_once(lease(3))
    has_browser = True
    assert not auto.at_once(lease(3)), "now it sees itself what rendering gains"
    has_browser = False
    assert auto.at_once(lease(3))


async def test_the_browser_of_a_process_is_away_if_it_does_not_start() -> None:
    browser = BrowserFetcher(BrowserPool("shoal/test", "/no/such", has_others=True), "shoal/test", AddressGuard())
    fetcher = Fetcher("shoal/test", AddressGuard())
    resources = JobResources(fetcher, open_browser=lambda: browser)
    active_job = ActiveJob("job", spec(render=Render.AUTO), 0.0, [], [], resources)
    for n in (1, 2):
        assert active_job.rendering_of(lease(n)) is None and active_job.auto_render.is_shell(lease(n), answer(SHELL))
    assert active_job.rendering_of(lease(3)) is not None
    await active_job.close_browser()
    await fetcher.aclose()


def saved(store: Store, *several: AutoRender, has_browser: bool = True) -> AutoRender:
    """As a process sees it that begins later."""
    later = AutoRender(LearntCounts(), lambda: has_browser)
    later.load(stored(store, *(auto.learnt for auto in several)))
    return later


def test_a_later_process_knows_where_rendering_gained(crawler: Field) -> None:
    auto = AutoRender(LearntCounts())
    for n in (1, 2):
        assert not auto.learnt.take_news()
        render(auto, lease(n), FULL)
    assert auto.learnt.take_news(), "other workers should know now"
    later = saved(crawler.home.store, auto)
    assert later.at_once(lease(3)) and not later.at_once(lease(3, "about"))
    # A page was enough without a browser: what it takes off the count is known later too.
    later.lacks_items(lease(RECHECKED_ONE_IN), answer(FULL), done(lease()))
    assert later.learnt.has_news and not saved(crawler.home.store, later).at_once(lease(3))


def test_what_several_processes_learnt_about_rendering_adds_up(crawler: Field) -> None:
    several = [AutoRender(LearntCounts()) for _ in range(3)]
    for n, auto in enumerate(several, 1):
        render(auto, lease(n), FULL)
        render(auto, lease(n, "about"), SHELL)
        assert not auto.at_once(lease(4)) and auto.is_shell(lease(4, "about"), answer(SHELL))
    for has_browser in (True, False):
        later = saved(crawler.home.store, *several, has_browser=has_browser)
        assert later.at_once(lease(4)) and not later.is_shell(lease(4, "about"), answer(SHELL))
    several[0].load(stored(crawler.home.store))
    assert several[0].at_once(lease(4))


def test_processes_that_find_at_once_that_pages_no_longer_gain_take_off_no_more_than_there_was(crawler: Field) -> None:
    auto = AutoRender(LearntCounts())
    for n in (1, 2):
        render(auto, lease(n), FULL)
    finding = [saved(crawler.home.store, auto) for _ in range(3)]
    for one in finding:
        one.lacks_items(lease(RECHECKED_ONE_IN), answer(FULL), done(lease()))
    later = saved(crawler.home.store, *finding)
    for n in (3, 4):
        render(later, lease(n), FULL)
    assert later.at_once(lease(5))


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
