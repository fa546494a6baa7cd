"""How requests are written down, and read again."""

from __future__ import annotations

import pytest

from shoal.frontier.record import trail_of, trail_text
from shoal.model import Trail


@pytest.mark.parametrize(
    "trail",
    [
        Trail(),
        Trail(3, -1, -(2**63), "details", None, (1, 2)),
        Trail(1, 0, 5, "", {"page": None, "rest": [1, [None, []]]}, ()),
        Trail(1, 0, 5, ',null,[]]"', {"said": ',null,["'}, (7,)),
        Trail(1, 0, None, "", {}, ()),
    ],
)
def test_a_trail_comes_back_as_it_was(trail: Trail) -> None:
    assert trail_of(trail_text(trail)) == trail


def test_what_a_spider_gave_along_belongs_to_one_request() -> None:
    text = trail_text(Trail(meta={"seen": [None, []]}))
    first, second = trail_of(text), trail_of(text)
    assert first.meta is not None and second.meta is not None
    first.meta["seen"].append("changed")
    assert second.meta == trail_of(text).meta == {"seen": [None, []]}


def test_links_of_a_page_share_their_trail() -> None:
    text = trail_text(Trail(2, 0, 9))
    assert trail_of(text) is trail_of(text)
