"""How requests are written down, and read again."""

from __future__ import annotations

import json

import msgpack
import pytest

from shoal.frontier.redis import serialize as redis_serialize
from shoal.frontier.serialize import trail_of, trail_text
from shoal.model import RequestOptions, Trail


@pytest.mark.parametrize(
    "trail",
    [
        Trail(),
        Trail(3, -1, -(2**63), "details", None, (1, 2)),
        Trail(1, 0, 5, "", {"page": None, "rest": [1, [None, []]]}, ()),
        Trail(1, 0, 5, ',null,[]]"', {"said": ',null,["'}, (7,)),
        Trail(1, 0, None, "", {}, ()),
        Trail(1, 0, None, "", None, (4,), RequestOptions((("A", ",null,[1]]"),), (("b", "c"),), "failed", (404,), 2.5)),
        Trail(1, 0, 7, "", {"a": 1}, (), None, {"sku": "12", "name": "é"}),
    ],
)
def test_a_trail_comes_back_as_it_was(trail: Trail) -> None:
    assert trail_of(trail_text(trail)) == trail
    assert redis_serialize.trail_of(redis_serialize.trail_bytes(trail)) == trail


def test_trails_of_earlier_versions_are_read() -> None:
    assert trail_of('[1,0,9,"detail",{"a":1},[3]]') == Trail(1, 0, 9, "detail", {"a": 1}, (3,))
    assert redis_serialize.trail_of(msgpack.packb([1, 0, 9, "detail", '{"a":1}', 3])) == Trail(
        1, 0, 9, "detail", {"a": 1}, (3,)
    )


@pytest.mark.parametrize("more", [5, [], {"options": 3}, {"options": {"headers": [1]}}, {"options": {"statuses": "x"}}])
def test_damaged_options_are_refused_as_such(more: object) -> None:
    with pytest.raises(ValueError):
        trail_of(json.dumps([0, 0, None, "", None, [], more]))
    with pytest.raises(ValueError):
        redis_serialize.trail_of(msgpack.packb([0, 0, None, "", "", json.dumps(more)]))


def test_what_a_spider_gave_along_belongs_to_one_request() -> None:
    text = trail_text(Trail(meta={"seen": [None, []]}))
    first, second = trail_of(text), trail_of(text)
    assert first.meta is not None and second.meta is not None
    first.meta["seen"].append("changed")
    assert second.meta == trail_of(text).meta == {"seen": [None, []]}


def test_links_of_a_page_share_their_trail() -> None:
    text = trail_text(Trail(2, 0, 9))
    assert trail_of(text) is trail_of(text)
