"""The JSON schema, the checks and the reference agree with each other."""

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
from shoal.model.options import SpiderOptions
from shoal.spiders import rules
from shoal.spiders.rules.keys import FIELD, ITEM, LINK, OPTIONS, RULES, TYPES
from shoal.spiders.rules.parse_yaml import Faults, read
from tests.spiders.test_rules import BOOKS
from tests.spiders.test_rules_faults import ONE_FAULT, TREES, WORDS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
VALIDATOR = Draft202012Validator(rules.schema())
UNSEEN = re.compile(
    r"not CSS|never closed|no function|in quotes|perl operator|missing \)|a valid date|regular expression|\(malformed\)"
    r"|not a page|selects text|not a field;|read from|is for numbers|other fields|used twice|second document"
    r"|the tag|not YAML|alias|not allowed here|nested more|characters; at"
)
"""Faults inside a text or between values, which a schema cannot find."""


def plain(text: str) -> object:
    return read(text, Faults("rules")).plain()


def test_the_schema_is_valid_and_the_committed_file_is_current() -> None:
    Draft202012Validator.check_schema(rules.schema())
    committed = (REFERENCE / "rules.schema.json").read_text()
    assert committed == json.dumps(rules.schema(), indent=2) + "\n", (
        "write it anew: python -c 'import json; from shoal.spiders.rules import schema; "
        "print(json.dumps(schema(), indent=2))' > docs/reference/rules.schema.json"
    )


def test_the_schema_accepts_the_example() -> None:
    VALIDATOR.validate(plain(BOOKS))


SEEN = [(text, told) for text, told in ONE_FAULT if not UNSEEN.search(told)]


@pytest.mark.parametrize("text", [text for text, _ in SEEN], ids=[told[:40] for _, told in SEEN])
def test_the_schema_refuses_what_the_checks_refuse(text: str) -> None:
    assert not VALIDATOR.is_valid(plain(text))


def test_the_schema_finds_most_faults_of_shape() -> None:
    assert len(SEEN) >= 25


@given(st.dictionaries(WORDS, TREES, max_size=3), TREES)
def test_all_rules_that_load_fit_the_schema(field: dict[str, object], options: object) -> None:
    """Compares the JSON of the rules, so the notation does not matter."""
    items = [{"fields": {"a": {"css": "a", **field}}}]
    try:
        made = rules.from_json(json.dumps({"start": "https://a.example/", "items": items, "options": options}))
    except UsageError:
        return
    assert made.rules is not None
    VALIDATOR.validate(json.loads(made.rules))


def test_options_are_exactly_those_of_a_spider() -> None:
    assert set(OPTIONS.keys) == set(typing.get_type_hints(SpiderOptions))


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


def test_the_fault_in_the_reference_is_the_one_reported() -> None:
    text = (REFERENCE / "rules.md").read_text()
    shown = re.search(r"^```text\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert shown
    with pytest.raises(UsageError) as refused:
        rules.from_json(
            "start: https://a.example/\nfolow: [a]\nitems: [{fields: {price: {css: 'p..x', type: decimel}}}]"
        )
    assert shown[1] == str(refused.value).replace("rules:", "books.yaml:")
