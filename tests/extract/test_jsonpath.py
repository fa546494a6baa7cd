"""JSONPath against worked examples and a naive model."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.extract.extract_errors import BadJson, BadSelector
from shoal.extract.jsonpath import MAX_RESULTS, jsonpath
from shoal.extract.parse_json import parsed_json

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
        ("$.books[?@.price < 10 || @.tags].title", ["A", "B"]),
        ("$.books[?@.price && !(@.isbn || @.tags)].title", ["C"]),
        ("$.books[?!@.isbn && @.title > 'B'].title", ["C"]),
        ("$.books[?'B' == @.title]['title', 'price']", ["B", 12]),
        ("$.books[?@.tags == $.books[1].tags].title", ["B"]),
        ("$.books[?@['in stock'] != $.open].title", ["A", "B"]),
        ("$.books[?@.missing == @.gone].title", ["A", "B", "C"]),
        ("$.books[?@.price == 8.950e0].title", ["A"]),
        ("$.books[?length(@.title) == 1 && count(@.tags[*]) > 1].title", ["B"]),
        ("$.books[?match(@.title, '[A-B]')].title", ["A", "B"]),
        ("$.books[?search(@.isbn, '\\\\d')].title", ["A"]),
        ("$.books[?value(@..tags[0]) == 'x'].title", ["B"]),
        ("$.books[?match(@.title, $.open)].title", []),
        ("$.books[?match(@.title, '(')].title", []),
        ("$ .books [ 0 , -1 ] ['\\u0074itle']", ["A", "C"]),
        ("$.books[::0].title", []),
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
        ("$ ", 2),
        ("$. a", 3),
        ("$[01]", 3),
        ("$[-0]", 3),
        ("$[9007199254740992]", 3),
        ("$.books[?(title)]", 11),
        ("$.books[?(@.a == b)]", 18),
        ("$.books[?(@.a == 'b']", 21),
        ("$..a..b..c", 8),
        ("$[?@..a == 1]", 4),
        ("$[?@[*] == 1]", 4),
        ("$[?'a']", 4),
        ("$[?length(@)]", 4),
        ("$[?match(@.a, 'b') == true]", 4),
        ("$[?count(1) == 1]", 10),
        ("$[?length(@, @) == 1]", 14),
        ("$[?size(@) == 1]", 4),
        ("$['a", 3),
        ("$['\\x']", 5),
        ("$['\\uDC00']", 4),
        ("$['\\uD800']", 10),
        ("$['\n']", 4),
        ("$[?" + "(" * 30 + "@" + ")" * 30 + "]", 24),
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


@given(VALUES, VALUES)
def test_a_comparison_agrees_with_json(one: Any, other: Any) -> None:
    data = [{"a": one, "b": other}]
    is_equal = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert bool(jsonpath("$[?@.a == @.b]").select(data)) == is_equal
    assert bool(jsonpath("$[?@.a != @.b]").select(data)) == (not is_equal)
    assert bool(jsonpath("$[?@.a <= @.b]").select(data)) >= is_equal


def test_true_is_not_one_and_a_fraction_equals_its_float() -> None:
    assert jsonpath("$[?@ == 1]").select([True, 1, 1.0, "1"]) == [1, 1.0]
    assert jsonpath("$[?@ == 0.1]").select([0.1]) == [0.1]
    assert jsonpath("$[?@ > $[0]]").select([0.5, 10**400, 0.1]) == [10**400]
    assert jsonpath("$[?@ == $[0]]").select([[True], [1]]) == [[True]]


@given(st.text(alphabet="$.[]*?@()'\"ab:-01= <!&|,\\u", max_size=24))
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
