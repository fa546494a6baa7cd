"""JSONPath against worked examples and a naive model."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.faults import BadJson, BadSelector
from shoal.extract.json_text import parsed_json
from shoal.extract.jsonpath import MAX_RESULTS, jsonpath

STORE = parsed_json(
    """{"books": [{"title": "A", "price": 8.95, "isbn": "1"}, {"title": "B", "price": 12, "tags": ["x", "y"]},
        {"title": "C", "price": null, "in stock": true}], "open": true, "owner": {"title": "D"}}"""
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.open", [True]),
        ("$.books[0].title", ["A"]),
        ("$.books[-1]['title']", ["C"]),
        ('$["books"][1].tags[*]', ["x", "y"]),
        ("$.books[*].title", ["A", "B", "C"]),
        ("$.books[1:].title", ["B", "C"]),
        ("$.books[::-1].title", ["C", "B", "A"]),
        ("$..title", ["A", "B", "C", "D"]),
        ("$..tags[0]", ["x"]),
        ("$.owner.*", ["D"]),
        ("$.books[?(@.isbn)].title", ["A"]),
        ("$.books[?(@.title == 'B')].price", [12]),
        ("$.books[?(@.price < 10)].title", ["A"]),
        ("$.books[?(@.price >= 8.95)].title", ["A", "B"]),
        ("$.books[?@.price == null].title", ["C"]),
        ("$.books[?(@['in stock'] == true)].title", ["C"]),
        ("$.books[?(@.title != 'A')].title", ["B", "C"]),
        ("$.books[9].title", []),
        ("$.open.title", []),
    ],
)
def test_a_path_finds(path: str, found: list[Any]) -> None:
    assert jsonpath(path).select(STORE) == found
    assert jsonpath(path).first(STORE) == (found[0] if found else None)


@pytest.mark.parametrize(
    ("path", "column"),
    [
        ("books", 1),
        ("$books", 2),
        ("$.", 3),
        ("$.books[", 9),
        ("$.books[]", 9),
        ("$.books[x]", 9),
        ("$.books[::0]", 9),
        ("$.books[?(title)]", 11),
        ("$.books[?(@.a == b)]", 18),
        ("$.books[?(@.a == 'b']", 21),
        ("$..a..b..c", 8),
        ("$[?(@..a)]", 6),
        ("$[?(@[?(@[?(@[?(@.a)])])])]", 16),
    ],
)
def test_a_bad_path_is_refused_with_its_column(path: str, column: int) -> None:
    with pytest.raises(BadSelector) as refused:
        jsonpath(path)
    assert refused.value.column == column


def test_results_are_bounded() -> None:
    assert len(jsonpath("$..*").select([0] * (MAX_RESULTS + 5))) == MAX_RESULTS


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner), max_leaves=20)
STEPS = st.lists(st.sampled_from([".a", ".b", "['c']", "[0]", "[-1]", "[*]", ".*"]), max_size=4)


def naive(value: Any, steps: list[str]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    for key, child in children:
        place = {key, key - len(value)} if isinstance(value, list) else {key}
        if step in ("[*]", ".*") or step.strip(".[]'") in map(str, place):
            yield from naive(child, rest)


@given(VALUES, STEPS)
def test_a_path_finds_what_a_naive_walk_finds(value: Any, steps: list[str]) -> None:
    assert jsonpath("$" + "".join(steps)).select(value) == list(naive(value, steps))


@given(VALUES, NAMES)
def test_descent_finds_every_member_of_that_name(value: Any, name: str) -> None:
    found: list[Any] = []
    json.loads(json.dumps(value), object_pairs_hook=lambda pairs: found.extend(v for k, v in pairs if k == name))
    assert len(jsonpath(f"$..{name}").select(value)) == len(found)


@given(st.text(alphabet="$.[]*?@()'\"ab:-01= <!", max_size=20))
def test_any_path_is_read_or_refused(text: str) -> None:
    try:
        jsonpath("$" + text).select(STORE)
    except BadSelector as refused:
        assert 1 <= refused.column <= len(text) + 2


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "[" * 500 + "]" * 500, "NaN", b"\xff", "1" * 5_000])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(BadJson):
        parsed_json(text)


def test_json_keeps_fractions_exact_and_text_whole() -> None:
    assert str(parsed_json("0.10")) == "0.10"
    assert parsed_json(r'["\ud83d\ude00", "\ud800", "\\ud800"]') == ["😀", "\ufffd", r"\ud800"]
