"""The schema says what the checks say, and the reference says it in words."""

from __future__ import annotations

import json
import re
import typing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shoal.errors import UsageError
from shoal.spiders import rules
from shoal.spiders.rules.keys import FIELD, ITEM, LINK, OPTIONS, RULES, TYPES
from shoal.spiders.rules.written import Faults, read
from shoal.spiders.spider import Options
from tests.spiders.test_rules import BOOKS
from tests.spiders.test_rules_faults import ONE_FAULT, TREES, WORDS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
VALIDATOR = Draft202012Validator(rules.schema())
UNSEEN = re.compile(
    r"not CSS|never closed|no function|in quotes|perl operator|missing \)|is no date|regular expression|\(malformed\)"
    r"|no page|gives texts|no field;|picked by|other fields|second time|second document"
    r"|the tag|no YAML|alias|cannot stand|nested more|characters; at"
)
"""Faults inside a text or between places, which a schema cannot tell."""


def plain(text: str) -> object:
    return read(text, Faults("rules")).plain()


def test_the_schema_is_one_and_the_committed_file_is_current() -> None:
    Draft202012Validator.check_schema(rules.schema())
    committed = (REFERENCE / "rules.schema.json").read_text()
    assert committed == json.dumps(rules.schema(), indent=2) + "\n", (
        "write it anew: python -c 'import json; from shoal.spiders.rules import schema; "
        "print(json.dumps(schema(), indent=2))' > docs/reference/rules.schema.json"
    )


def test_the_schema_takes_the_example() -> None:
    VALIDATOR.validate(plain(BOOKS))


SEEN = [(text, told) for text, told in ONE_FAULT if not UNSEEN.search(told)]


@pytest.mark.parametrize("text", [text for text, _ in SEEN], ids=[told[:40] for _, told in SEEN])
def test_the_schema_refuses_what_the_checks_refuse(text: str) -> None:
    assert not VALIDATOR.is_valid(plain(text))


def test_most_faults_of_shape_are_seen_by_the_schema() -> None:
    assert len(SEEN) >= 25


@given(st.dictionaries(WORDS, TREES, max_size=3), TREES)
def test_whatever_loads_fits_the_schema(field: dict[str, object], options: object) -> None:
    """Its values are those the JSON of the rules has, whatever the notation was."""
    items = [{"fields": {"a": {"css": "a", **field}}}]
    try:
        made = rules.from_json(json.dumps({"start": "https://a.example/", "items": items, "options": options}))
    except UsageError:
        return
    assert made.rules is not None
    VALIDATOR.validate(json.loads(made.rules))


def test_options_are_exactly_those_of_a_spider() -> None:
    assert set(OPTIONS.keys) == set(typing.get_type_hints(Options))


def test_the_reference_mentions_every_key_and_type() -> None:
    text = (REFERENCE / "rules.md").read_text()
    wanted = {*RULES.keys, *ITEM.keys, *LINK.keys, *FIELD.keys, *OPTIONS.keys, *TYPES}
    assert not [name for name in sorted(wanted) if f"`{name}`" not in text]


def examples() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", (REFERENCE / "rules.md").read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", examples())
def test_every_example_of_the_reference_loads_and_fits_the_schema(example: str) -> None:
    rules.from_json(example)
    VALIDATOR.validate(plain(example))


def test_the_fault_shown_in_the_reference_is_the_one_told() -> None:
    text = (REFERENCE / "rules.md").read_text()
    shown = re.search(r"^```text\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert shown
    with pytest.raises(UsageError) as refused:
        rules.from_json(
            "start: https://a.example/\nfolow: [a]\nitems: [{fields: {price: {css: 'p..x', type: decimel}}}]"
        )
    assert shown[1] == str(refused.value).replace("rules:", "books.yaml:")
