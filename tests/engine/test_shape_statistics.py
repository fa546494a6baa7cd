"""What a job learns about shapes, and how it lasts."""

from __future__ import annotations

from shoal.engine.shape_statistics import (
    CERTAIN_AFTER,
    DOUBTFUL_AFTER,
    LEAST_USEFUL_PAGES,
    NEWS_EVERY_S,
    USELESS_AFTER,
    Doubt,
    ShapeStatistics,
    Worth,
)
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.crawl.shape_counts import load_shape_counts
from shoal.store.store import Store
from shoal.urls.url_shapes import shapes_of
from tests.engine.conftest import Field

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
    shapes = ShapeStatistics()
    learn(shapes, LEAST_USEFUL_PAGES, DOUBTFUL_AFTER - 1)
    assert doubt(shapes) is Doubt.NONE
    learn(shapes, 0, 1)
    assert doubt(shapes) is Doubt.DOUBTFUL and shapes.has_news
    learn(shapes, 0, USELESS_AFTER - DOUBTFUL_AFTER)
    assert shapes.verdict(HOST, edit(999))[0] is Doubt.USELESS
    assert doubt(shapes, article(999)) is Doubt.NONE
    assert shapes.verdict("elsewhere.org", edit(999)).doubt is Doubt.NONE


def test_a_useful_page_or_one_that_was_found_by_it_raises_the_limits_of_a_shape() -> None:
    for useful in ({"url": edit(7)}, {"url": article(7), "found_by": shapes_of(edit(7))}):
        shapes = ShapeStatistics()
        learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER)
        for _ in range(2):
            shapes.learn(HOST, worth=Worth.USEFUL, **useful)
        assert shapes.verdict(HOST, edit(999)).doubt is not Doubt.USELESS
        learn(shapes, 0, USELESS_AFTER - 1)
        assert doubt(shapes) is Doubt.DOUBTFUL
        learn(shapes, 0, 1)
        assert doubt(shapes) is Doubt.USELESS


def test_a_shape_that_never_brought_anything_is_certain_at_last() -> None:
    shapes = ShapeStatistics()
    learn(shapes, LEAST_USEFUL_PAGES, CERTAIN_AFTER - 1)
    assert doubt(shapes) is Doubt.USELESS
    learn(shapes, 0, 1)
    assert doubt(shapes) is Doubt.CERTAIN


def test_useless_pages_with_a_query_say_nothing_about_those_without() -> None:
    """Old versions of files, in the directories of the current ones."""
    shapes = ShapeStatistics()
    learn(shapes, LEAST_USEFUL_PAGES, 0)
    for number in range(USELESS_AFTER):
        shapes.learn(HOST, f"https://{HOST}/tree/docs/{number}.md?id={number:040x}", Worth.USELESS)
    assert doubt(shapes, f"https://{HOST}/tree/docs/new.md?id={7:040x}") is Doubt.USELESS
    assert doubt(shapes, f"https://{HOST}/tree/docs/new.md") is Doubt.NONE
    # The same script shows commits.
    assert doubt(shapes, f"https://{HOST}/commit/?h=main") is Doubt.NONE


def test_a_host_without_useful_pages_is_not_judged() -> None:
    shapes = ShapeStatistics()
    learn(shapes, LEAST_USEFUL_PAGES - 1, 10 * USELESS_AFTER)
    assert doubt(shapes) is Doubt.NONE


def test_other_workers_are_called_soon_but_not_all_the_time() -> None:
    now = 100.0
    shapes = ShapeStatistics(clock=lambda: now)
    learn(shapes, LEAST_USEFUL_PAGES, DOUBTFUL_AFTER)
    assert (shapes.take_news(), shapes.take_news()) == (True, False)
    learn(shapes, 0, USELESS_AFTER)
    assert not shapes.take_news()
    now += NEWS_EVERY_S
    assert shapes.take_news()


def test_an_allowed_shape_is_never_doubted() -> None:
    for allowed in ("?action=edit", "all"):
        shapes = ShapeStatistics([allowed])
        learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER)
        assert doubt(shapes) is Doubt.NONE


def saved(store: Store, *learnt: ShapeStatistics) -> ShapeStatistics:
    """As a process sees it that begins later."""
    for shapes in learnt:
        batch = Batch("job")
        batch.tallies.update(shapes.take_changes())
        save(store, batch)
    later = ShapeStatistics()
    later.load(load_shape_counts(store, "job"))
    return later


def test_a_later_process_knows_what_was_learnt(crawler: Field) -> None:
    shapes = ShapeStatistics()
    learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER)
    later = saved(crawler.home.store, shapes)
    assert doubt(later) is Doubt.USELESS and doubt(later, article(999)) is Doubt.NONE
    # The articles had no useless page, and their useful ones count all the same.
    for number in range(2 * USELESS_AFTER):
        later.learn(HOST, article(number), Worth.USELESS)
    assert doubt(later, article(999)) is Doubt.DOUBTFUL
    # What it learns further is added once.
    for number in range(USELESS_AFTER):
        later.learn(HOST, edit(number), Worth.USEFUL)
    last = saved(crawler.home.store, later)
    assert doubt(last) is Doubt.NONE
    learn(last, 0, DOUBTFUL_AFTER)
    assert doubt(last) is Doubt.DOUBTFUL


def test_the_counts_of_several_processes_add_up(crawler: Field) -> None:
    several = [ShapeStatistics() for _ in range(3)]
    for shapes in several:
        learn(shapes, LEAST_USEFUL_PAGES, USELESS_AFTER // 2)
        assert doubt(shapes) is Doubt.DOUBTFUL
    assert doubt(saved(crawler.home.store, *several)) is Doubt.USELESS
