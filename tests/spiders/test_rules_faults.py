"""Bad rules are refused before any request, and every fault is reported with its position."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import UsageError
from shoal.spiders import rules
from shoal.spiders.rules.keys import FIELD, ITEM, LINK, OPTIONS, RULES
from shoal.spiders.spider import Spider

START = "start: https://a.example/\n"


def faults_of(text: str) -> list[str]:
    with pytest.raises(UsageError) as refused:
        rules.from_json(text)
    return str(refused.value).splitlines()


ONE_FAULT = [
    ("name: x", "1:1: start is missing in rules; give an absolute http or https URL, or a list of such"),
    ("", "1:1: the file is empty; give a mapping with name, start"),
    ("[]", "1:1: the file is a list; give a mapping"),
    (
        "start: https://a.example/\nitems: [{fields: {a: {css: b, decimal: ','}}}]",
        "2:31: decimal needs type beside it; give",
    ),
    (
        "start: https://a.example/\nitems: [{fields: {a: {css: b, type: date, decimal: ','}}}]",
        "2:52: decimal is for numbers: give type decimal",
    ),
    ("start: []", "1:8: start is a list; give an absolute http or https URL"),
    ("start: [https://a.example/, a.example]", "1:29: start is 'a.example' (malformed); give an absolute"),
    ("start: ftp://a.example/", "1:8: start is 'ftp://a.example/' (not_http); give"),
    ("start: 'https://ann:secret@a b/'", "1:8: start is 'https://***@a b/' (malformed)"),
    (START + "folow: []", "2:1: unknown key 'folow' in rules (did you mean follow?); allowed are name, start, follow"),
    (START + "<<: {}", "2:1: unknown key '<<' in rules; allowed are"),
    (START + "follow: a", "2:9: follow is 'a'; give a list, each part a selector"),
    (START + "follow: [3]", "2:10: follow is 3; give a selector: CSS, XPath that"),
    (START + "follow:\n  - li..next", "3:7: follow 'li..next': not CSS that can be read from here on"),
    (START + 'follow: [{css: "a[b"}]', "2:18: css 'a[b': [ is never closed"),
    (START + 'follow: [{css: "a\\u005bb"}]', "2:16: css 'a[b': [ is never closed"),
    (START + "follow: [{xpath: //a/fo()}]", "2:22: xpath '//a/fo()': XPath 1.0 has no function fo()"),
    (START + "follow: [{jsonpath: $.a[}]", "2:24: this is not YAML"),
    (START + 'follow: [{jsonpath: "$.a["}]', "2:26: jsonpath '$.a[': expected a name in quotes, a number"),
    (START + "follow: [{css: a, to: leaf}]", "2:23: to is 'leaf', which is not a page; there are start"),
    (START + "follow: [{css: a, priority: high}]", "2:29: priority is 'high'; give a whole number"),
    (START + "follow: [{to: start}]", "2:10: a follow entry takes one of css, xpath, jsonpath; this has none"),
    (START + "items: [{each: a}]", "2:9: fields is missing in an item; give a mapping from names to selectors"),
    (START + "items: [{fields: {}}]", "2:18: fields is a mapping; give a mapping from names to selectors"),
    (START + "items: [{each: 'a::text', fields: {b: b}}]", "2:18: 'a::text' selects text, but fields need elements"),
    (START + "items: [{key: [c], fields: {b: b}}]", "2:16: key is 'c', which is not a field; there are b"),
    (
        START + "items: [{fields: {json: b}}]",
        "2:19: the name 'json' in fields is taken; choose another, such as json_1",
    ),
    (START + "items: [{fields: {_b: b}}]", "2:19: a name in fields is '_b'; give a name of at most 100"),
    (START + "items: [{fields: {b: $.b, c: h1}}]", "2:30: c uses css, but the item is read from JSON"),
    (START + "items: [{each: a, fields: {b: $.b}}]", "2:31: b uses jsonpath, but the item is read from HTML"),
    (START + "items: [{fields: {b: {css: a, typ: url}}}]", "2:31: unknown key 'typ' in a field (did you mean type?)"),
    (START + "items: [{fields: {b: {css: a, type: money}}}]", "2:37: type is 'money'; give one of 'boolean', 'date'"),
    (START + "items: [{fields: {b: {css: a, type: decimel}}}]", "2:37: type is 'decimel' (did you mean decimal?)"),
    (START + "items: [{fields: {b: {css: a, xpath: //a}}}]", "2:31: a field takes one of css, xpath, jsonpath, regex"),
    (START + "items: [{fields: {b: {css: a, re: 'x(?=y)'}}}]", "2:37: re 'x(?=y)': invalid perl operator"),
    (START + "items: [{fields: {b: {regex: '(a'}}}]", "2:31: regex '(a': missing )"),
    (START + "items: [{fields: {b: {css: a, list: yes}}}]", "2:37: list is 'yes'; give true"),
    (START + "items: [{fields: {b: {css: a, list: true, optional: true}}}]", "2:43: optional does not go with list"),
    (START + "items: [{fields: {b: {each: a}}}]", "2:23: each needs fields beside it; give a mapping"),
    (
        START + "items: [{fields: {b: {css: a, type: date, default: soon}}}]",
        "2:52: default 'soon' is not a valid date:",
    ),
    (START + "items: [{fields: {b: {css: a, default: [1]}}}]", "2:40: default is a list; give text, a number"),
    (
        START + "items: [{name: T, fields: {b: b}}, {name: T, fields: {c: c}}]",
        "2:43: items named 'T' have other fields",
    ),
    (START + "pages: {start: {}}", "2:9: the name 'start' in pages is taken"),
    (START + "options: {rate: -1}", "2:17: rate is -1; give 0 or a number from 0.0001 to 10,000"),
    (START + "options: {per_host: 0}", "2:21: per_host is 0; give a whole number from 1"),
    (START + "options: {max_change: 2}", "2:23: max_change is 2; give a number from 0 to 1"),
    (START + "options: {scope: hosts}", "2:18: scope is 'hosts' (did you mean host?); give one of 'host'"),
    (START + "options: {include: ['re:(']}", "2:21: include pattern 're:(' is not a regular expression"),
    (START + 'options: {header: ["A: b\\n"]}', "2:20: header is 'A: b\\n'; give NAME:VALUE"),
    (START + "options: {sitemaps: 1}", "2:21: sitemaps is 1; give one of true, false"),
    (START + "name: a\nname: b", "3:1: the key 'name' is used twice; the first is on line 2"),
    (START + "name: !!python/name:os.system x", "2:7: the tag 'tag:yaml.org,2002:python/name:os.system' is not"),
    (START + "---\n" + START, "2:1: a second document starts here; rules are one document"),
    (START + "items: [", "2:9: this is not YAML: while parsing a flow"),
    (START + "name: *a", "2:7: the alias *a has no anchor &a before it"),
    (START + "items: &a [*a]", "2:12: the alias *a has no anchor &a before it"),
    (START + "name: \x07", "2:7: the character '\\x07' is not allowed here"),
    (START + 'name: "\\UFFFFFFFF"', "2:1: this is not YAML from here on"),
    ("[" * 9_000, "1:42: nested more than 40 deep"),
    ("#" * 300_000, "1:1: the rules have 300,000 characters; at most 262,144 are allowed"),
]


@pytest.mark.parametrize(("text", "told"), ONE_FAULT, ids=[told[:40] for _, told in ONE_FAULT])
def test_a_fault_is_reported_with_its_position_and_what_is_allowed(text: str, told: str) -> None:
    [fault] = faults_of(text)
    assert fault.startswith(f"rules:{told}")


def test_all_faults_are_reported_at_once_in_file_order(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("nam: x\nstart: 5\nfollow: [{css: a, to: b}]\nitems:\n  - fields: {t: {css: 'a b..'}}\n")
    with pytest.raises(UsageError) as refused:
        rules.load(path)
    places = [line.removeprefix(f"{path}:").split(": ")[0] for line in str(refused.value).splitlines()]
    assert places == ["1:1", "2:8", "3:23", "5:27"]


def test_only_the_first_of_thousands_of_faults_are_reported() -> None:
    told = faults_of(START + "".join(f"key{n}: 1\n" for n in range(3_000)))
    assert len(told) == 51
    assert told[-1] == "rules: and 2,950 more"


def test_a_fault_is_one_line_whatever_the_names_contain() -> None:
    [missing, unknown] = faults_of('"a\\n\\e[31m": 1')
    assert unknown.startswith("rules:1:1: unknown key 'a\\n\\x1b[31m' in rules")
    [fault] = faults_of(START + 'items: [{fields: {"a\\u2028": 3, b: b}}]')[1:]
    assert fault.startswith("rules:2:30: a\\u2028 is 3; give a selector")
    [fault] = faults_of(START + f"pages: {{{'a' * 900}{'b' * 900}: 3}}")[:1]
    assert len(fault) < 1_100 and "start is missing" in missing


def test_the_expansion_of_aliases_is_limited() -> None:
    bomb = START + "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    [fault] = faults_of(bomb)
    assert "more than 20,000 values, including those of aliases" in fault


def test_the_nesting_of_aliases_is_limited() -> None:
    chain = START + "items:\n- fields:\n    f0: &f0 {css: a, fields: {x: b}}\n"
    chain += "".join(f"    f{n}: &f{n} {{css: a, fields: {{x: *f{n - 1}}}}}\n" for n in range(1, 2_000))
    [fault] = faults_of(chain)
    assert "nested more than 40 deep, including the alias *f" in fault


def test_a_missing_file_and_one_that_is_not_utf8_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"name: x\nstart: caf\xe9\n")
    with pytest.raises(UsageError, match=r"latin\.yaml:2:11: this is not UTF-8"):
        rules.load(path)
    with pytest.raises(UsageError, match=r"cannot read the rules .*: No such file"):
        rules.load(tmp_path / "none.yaml")


KEYS = [*RULES.keys, *FIELD.keys, *ITEM.keys, *LINK.keys, *OPTIONS.keys]
TEXTS = ["h1", "//a/@b", "$.a[*]", "text", "a[", "https://a.example/", "", "::", "[", "<<", "copy"]
WORDS = st.sampled_from([*KEYS, *TEXTS])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=8)
TREES = st.recursive(
    LEAVES, lambda part: st.lists(part, max_size=3) | st.dictionaries(WORDS, part, max_size=4), max_leaves=12
)


def loads_or_is_refused(text: str) -> None:
    try:
        assert isinstance(rules.from_json(text), Spider)
    except UsageError as error:
        assert all(line.startswith("rules:") for line in str(error).splitlines())


@given(
    st.text()
    | st.lists(WORDS | st.sampled_from([": ", "\n", "  ", "- ", "{", "}", "&a ", "*a", "'", '"', "\t", "!", "|"])).map(
        "".join
    )
)
def test_any_text_is_a_spider_or_a_usage_error(text: str) -> None:
    loads_or_is_refused(text)


@given(
    TREES,
    st.dictionaries(WORDS, TREES, max_size=3),
    st.lists(st.dictionaries(WORDS | st.text(max_size=5), TREES, max_size=3), max_size=2),
)
def test_any_tree_below_the_known_keys_is_a_spider_or_a_usage_error(
    tree: object, field: dict[str, object], items: list[dict[str, object]]
) -> None:
    loads_or_is_refused(yaml.safe_dump({"start": "https://a.example/", "follow": tree}))
    fields = {"a": "h1", "b": {"css": "a", **field}, **(items[0] if items else {})}
    loads_or_is_refused(yaml.safe_dump({"start": "https://a.example/", "items": [{"fields": fields}, *items]}))
