"""What a job learns about shapes, and how it lasts."""

from __future__ import annotations

from shoal.engine.learnt_counts import NEWS_EVERY_S, LearntCounts
from shoal.engine.shape_statistics import (
    DOUBTFUL_AFTER,
    LEAST_USEFUL_PAGES,
    USELESS_AFTER,
    Doubt,
    ShapeStatistics,
    Worth,
)
from shoal.store.crawl.learnt_counts import load_learnt_counts
from shoal.store.store import Store
from tests.engine.conftest import Field
from tests.engine.stored_counts import stored

HOST = "example.org"


def article(number: int) -> str:
    return f"https://{HOST}/wiki/A{number}"


def edit(number: int) -> str:
    return f"https://{HOST}/w/index.php?title=A{number}&action=edit"


def learn(shapes: ShapeStatistics, useful: int, useless: int) -> None:
    for number in range(useful):
        shapes.learn(HOST, article(number), Worth.USEFUL)
    for number in range(useless):
        shapes.learn(HOST, edit(number), Worth.USELESS)


def doubt(shapes: ShapeStatistics, url: str = edit(999)) -> Doubt:
    return shapes.verdict(HOST, url).doubt


def test_a_shape_becomes_doubtful_and_then_useless() -> None:
    learnt = LearntCounts()
    shapes = ShapeStatistics(learnt)
    learn(shapes, LEAST_USEFUL_PAGES, DOUBTFUL_AFTER - 1)
    assert doubt(shapes) is Doubt.NONE
    learn(shapes, 0, 1)
    assert doubt(shapes) is Doubt.DOUBTFUL and learnt.has_news
    learn(shapes, 0, USELESS_AFTER - DOUBTFUL_AFTER)
    assert shapes.verdict(HOST, edit(999))[0] is Doubt.USELESS
    assert doubt(shapes, article(999)) is Doubt.NONE
    assert shapes.verdict("elsewhere.org", edit(999)).doubt is Doubt.NONE


def test_one_useful_page_or_one_that_was_found_by_it_clears_a_shape() -> None:
    for clear in ({"url": edit(7)}, {"url": article(7), "found_by": ["?action=edit", "?action", "?title", "/w/*"]}):
        shapes = ShapeStatistics(LearntCounts())
        learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER)
        shapes.learn(HOST, worth=Worth.USEFUL, **clear)
        learn(shapes, 0, 10 * USELESS_AFTER)
        assert doubt(shapes) is Doubt.NONE


def test_shapes_of_a_host_without_useful_pages_are_only_suspected() -> None:
    shapes = ShapeStatistics(LearntCounts())
    learn(shapes, LEAST_USEFUL_PAGES - 1, DOUBTFUL_AFTER - 1)
    assert doubt(shapes) is Doubt.NONE
    learn(shapes, 0, 10 * USELESS_AFTER)
    assert doubt(shapes) is Doubt.SUSPECTED and doubt(shapes, article(999)) is Doubt.NONE
    shapes.learn(HOST, article(0), Worth.USEFUL)
    assert doubt(shapes) is Doubt.USELESS


def test_other_workers_are_called_soon_but_not_all_the_time() -> None:
    now = 100.0
    learnt = LearntCounts(clock=lambda: now)
    shapes = ShapeStatistics(learnt)
    learn(shapes, LEAST_USEFUL_PAGES, DOUBTFUL_AFTER)
    assert (learnt.take_news(), learnt.take_news()) == (True, False)
    learn(shapes, 0, USELESS_AFTER)
    assert not learnt.take_news()
    now += NEWS_EVERY_S
    assert learnt.take_news()


def test_an_allowed_shape_is_never_doubted() -> None:
    for allowed in ("?action=edit", "all"):
        shapes = ShapeStatistics(LearntCounts(), [allowed])
        learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER)
        assert doubt(shapes) is Doubt.NONE


def saved(store: Store, *several: ShapeStatistics) -> ShapeStatistics:
    """As a process sees it that begins later."""
    later = ShapeStatistics(LearntCounts())
    later.load(stored(store, *(shapes.learnt for shapes in several)))
    return later


def test_a_later_process_knows_what_was_learnt(crawler: Field) -> None:
    shapes = ShapeStatistics(LearntCounts())
    learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER)
    later = saved(crawler.home.store, shapes)
    assert doubt(later) is Doubt.USELESS and doubt(later, article(999)) is Doubt.NONE
    # The articles had no useless page, and their shape stays cleared all the same.
    for number in range(2 * USELESS_AFTER):
        later.learn(HOST, article(number), Worth.USELESS)
    assert doubt(later, article(999)) is Doubt.NONE
    # What it learns further is added once.
    later.learn(HOST, edit(1), Worth.USEFUL)
    assert doubt(saved(crawler.home.store, later)) is Doubt.NONE


def test_what_one_process_found_useful_clears_the_shape_for_another(crawler: Field) -> None:
    doubting, finding = ShapeStatistics(LearntCounts()), ShapeStatistics(LearntCounts())
    learn(doubting, LEAST_USEFUL_PAGES, USELESS_AFTER)
    found_by = ["?action", "?action=edit", "?title", "/w/*"]
    finding.learn(HOST, article(7), Worth.USEFUL, found_by)
    assert doubt(saved(crawler.home.store, doubting, finding)) is Doubt.NONE


def test_a_process_that_hears_of_a_doubt_tells_what_it_found_useful(crawler: Field) -> None:
    doubting, finding = ShapeStatistics(LearntCounts()), ShapeStatistics(LearntCounts())
    learn(doubting, LEAST_USEFUL_PAGES, USELESS_AFTER)
    finding.learn(HOST, edit(7), Worth.USEFUL)
    assert doubt(saved(crawler.home.store, doubting, finding)) is Doubt.USELESS
    finding.load(load_learnt_counts(crawler.home.store, "job"))
    assert doubt(saved(crawler.home.store, finding)) is Doubt.NONE


def test_the_counts_of_several_processes_add_up(crawler: Field) -> None:
    several = [ShapeStatistics(LearntCounts()) for _ in range(3)]
    for shapes in several:
        learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER // 2)
        assert doubt(shapes) is Doubt.DOUBTFUL
    assert doubt(saved(crawler.home.store, *several)) is Doubt.USELESS
