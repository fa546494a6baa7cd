"""Records read in a batch give the same values as when each is read alone."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from shoal import Item, Page, Url, css, xpath
from shoal.spiders.item import Reject
from shoal.spiders.item_reader import item_reader_for

URL = "https://Shop.example:443/list/1"


class Thing(Item):
    name: str = css(".name::text")
    words: str = css(".name", default="none")
    price: Decimal | None = css(".price::text")
    left: int | None = css(".box .left")
    link: Url | None = css("a::attr(href)")
    day: date | None = css("time::attr(datetime)")
    first: str | None = css(".box ::text")
    any: str | None = css("::attr(datetime)")
    deep: str | None = xpath(".//b")


PARTS = (
    *("<i class=name>plain</i>", "<i class=name> two\n  words </i>", "<i class=name>caf\xe9</i>", "<i class=name></i>"),
    *("<p class=price>£5.10</p>", "<p class=price>1.234,50 €</p>", "<p class=price>ask</p>", "<p class=price>7</p>"),
    *("<p class=box><i class=left>3 left</i></p>", "<i class=left>4</i>", "<p class=box><i class=left>2.5</i></p>"),
    *("<a href=/a/b>", "<a href='/a b'>", "<a>", "<a href=../c>", "<a href=''>", "<a href='mailto:x'>"),
    *("<time datetime=2026-11-15>", "<time datetime='15 Nov 2026'>", "<time datetime=2026-13-01>", "<b>far</b>"),
)
USUAL = "<i class=name>plain</i><p class=price>£5.10</p><p class=box><i class=left>3 left</i></p><a href=/a/b>"


def record(parts: list[str], depth: int) -> str:
    return f"<article>{'<div>' * depth}{''.join(parts)}{'</div>' * depth}</article>"


records = st.one_of(
    st.just(record([USUAL], 0)), st.builds(record, st.lists(st.sampled_from(PARTS), max_size=6), st.integers(0, 2))
)


def found_alone(page: Page) -> list[Item | Reject]:
    plan = item_reader_for(Thing)
    return [plan.read(node, page.base_url) for node in page.css("article")]


def found_together(page: Page) -> tuple[list[Thing], list[Reject]]:
    return list(page.each("article", Thing)), page.rejects


@given(st.lists(st.one_of(records, st.sampled_from(PARTS)), max_size=12), st.sampled_from(["div", "article", "p"]))
def test_records_read_in_a_batch_equal_those_read_alone(parts: list[str], around: str) -> None:
    html = f"<{around} class=box>{''.join(parts)}</{around}>".encode()
    page = Page(URL, html, html=html)
    alone = found_alone(page)
    items, rejects = found_together(page)
    assert items == [one for one in alone if isinstance(one, Item)]
    assert rejects == [one for one in alone if isinstance(one, Reject)]


def test_a_record_never_gets_the_element_of_another_record() -> None:
    two, none, one = "<i class=name>a</i><i class=name>b</i>", "<u></u>", "<i class=name>c</i>"
    html = "".join(f"<article>{parts}</article>" for parts in (two, none, one, one)).encode()
    page = Page(URL, html, html=html)
    items, rejects = found_together(page)
    assert [item.name for item in items] == ["a", "c", "c"]
    assert [reject.reason for reject in rejects] == ["name: nothing matches '.name::text'"]
