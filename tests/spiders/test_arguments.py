"""Arguments of spiders: typed by the signature, refused with the nearest name, and given to every callback."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import pytest

from shoal import Page, Spider, spider
from shoal.errors import UsageError
from shoal.spiders.arguments import argument_texts

PAGE = b"<h1>x</h1>"


@spider("https://x.test/{category}/{size}.html", "https://x.test/")
def shop(
    page: Page,
    category: str,
    size: Literal["s", "m"] = "m",
    limit: int = 10,
    share: float = 0.5,
    fresh: bool = False,
    price: Decimal | None = None,
    since: date | None = None,
    pages: list[int] = [],  # noqa: B006
    level: Literal[1, 2] = 1,
) -> Iterator[Any]:
    yield {
        **{"category": category, "size": size, "limit": limit, "share": share, "fresh": fresh},
        **{"price": price, "since": since, "pages": pages, "level": level},
    }


@shop.callback
async def detail(page: Page, limit: int) -> dict[str, Any]:
    return {"limit": limit}


@shop.callback
def plain(page: Page) -> dict[str, Any]:
    return {"plain": True}


def bound(**given: Any) -> Spider:
    return shop.with_arguments(given)


def test_texts_become_what_the_signature_says() -> None:
    texts = {"limit": "5", "share": "1.5", "fresh": "yes", "price": "1.20", "since": "2026-01-31", "level": "2"}
    (found,) = shop.test(PAGE, arguments={"category": "garden", "pages": ["1", "2"], **texts})
    assert found == {
        **{"category": "garden", "size": "m", "limit": 5, "share": 1.5, "fresh": True, "price": Decimal("1.20")},
        **{"since": date(2026, 1, 31), "pages": [1, 2], "level": 2},
    }


def test_every_callback_that_names_an_argument_gets_it() -> None:
    assert shop.test(PAGE, callback="detail", arguments={"category": "a", "limit": 3}) == [{"limit": 3}]
    assert shop.test(PAGE, callback="detail", arguments={"category": "a"}) == [{"limit": 10}]
    assert shop.test(PAGE, callback="plain", arguments={"category": "a", "limit": 3}) == [{"plain": True}]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the spider shop needs category: give -a category=..."),
        ({"category": "a", "limt": "5"}, "has no argument limt (did you mean limit?); it has category, size, limit"),
        ({"category": "a", "limit": "many"}, "the argument limit is 'many'"),
        ({"category": "a", "size": "xl"}, "the argument size is 'xl': Input should be 's' or 'm'"),
        ({"category": "a", "fresh": "perhaps"}, "the argument fresh is 'perhaps'"),
        ({"category": ["a", "b"]}, "the argument category was given 2 times"),
        ({"limit": "x"}, "needs category"),
    ],
)
def test_what_cannot_be_used_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        bound(**given)
    assert message in str(refused.value)


def test_a_spider_without_parameters_says_so() -> None:
    @spider("https://x.test/{untouched}")
    def bare(page: Page) -> None: ...

    assert bare.with_arguments({}).urls == ("https://x.test/{untouched}",)
    with pytest.raises(UsageError, match="bare takes no argument, and a was given"):
        bare.with_arguments({"a": "1"})
    assert bare.with_arguments({"a": "1"}, ignore_unknown=True) is bare


def test_start_urls_have_the_arguments_percent_encoded() -> None:
    assert bound(category="a/b c").urls == ("https://x.test/a%2Fb%20c/m.html", "https://x.test/")


def test_a_list_makes_a_start_url_for_each_of_its_values() -> None:
    @spider("https://x.test/{place}/{page_number}")
    def lists(page: Page, place: list[str], page_number: int = 1) -> None: ...

    assert lists.with_arguments({"place": ["a", "b"]}).urls == ("https://x.test/a/1", "https://x.test/b/1")


def test_arguments_cannot_make_endless_start_urls() -> None:
    @spider("https://x.test/{a}/{b}")
    def lists(page: Page, a: list[str], b: list[str]) -> None: ...

    many = [str(n) for n in range(1_000)]
    with pytest.raises(UsageError, match="more than 10,000 URLs: give fewer"):
        lists.with_arguments({"a": many, "b": many})


def test_a_start_url_may_name_only_parameters() -> None:
    @spider("https://x.test/{catgory}")
    def typo(page: Page, category: str = "a", kind: str | None = None) -> None: ...

    with pytest.raises(UsageError, match="names catgory, which is no parameter; there are category, kind"):
        typo.with_arguments({})

    @spider("https://x.test/{kind}")
    def empty(page: Page, kind: str | None = None) -> None: ...

    with pytest.raises(UsageError, match="needs the argument kind"):
        empty.with_arguments({})


def test_arguments_from_python_are_written_as_texts() -> None:
    assert argument_texts({"a": 1, "b": [True, date(2026, 1, 2)]}) == ("a=1", "b=True", "b=2026-01-02")
