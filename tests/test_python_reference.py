"""docs/reference/python.md names every public name, parameter and attribute, and its examples run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal import Item, Page, Request, Spider
from shoal.embedded.report import Report
from shoal.extract.document import Node
from shoal.practice import Running, Shop, running
from shoal.spiders.field_selectors import FieldArguments
from shoal.spiders.job_hooks import JobInfo
from shoal.spiders.load_spider import load_spider
from shoal.spiders.request_arguments import RequestArguments

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "python.md"
CLASSES = {
    Spider: "Spider",
    Page: "Page",
    Node: "Nodes",
    Request: "Request",
    Report: "Report",
    Item: "Item",
    JobInfo: "Hooks",
}
"""With their sections."""
FUNCTIONS = {"spider": "spider", "css": "Item", "xpath": "Item", "jsonpath": "Item", "regex": "Item"}
EXAMPLES = re.findall(r"^```python\n(.+?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
INHERITED = {name for base in (tuple, object) for name in dir(base)}


def section(title: str) -> str:
    """The text below a heading, up to the next heading of its level."""
    found = re.search(rf"^(#+) {title}\n(.*?)(?=^\1 |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/python.md has no section {title}"
    return found[2]


def public(cls: type) -> Iterator[tuple[str, Any]]:
    own = {**dict.fromkeys(cls.__annotations__), **vars(cls)} if cls is not Spider else dict(vars(cls))
    if cls is Spider:
        own |= vars(Spider(lambda page: None, (), "", {}))
    for name, value in own.items():
        if not name.startswith(("_", "model_")) and name not in INHERITED:
            yield name, value


def parameters(function: Any) -> set[str]:
    """Without those of a typed dict, which have their own tests."""
    found = inspect.signature(function).parameters.values()
    return {each.name for each in found if each.name != "self" and each.kind is not each.VAR_KEYWORD}


def code_in(text: str) -> str:
    """Its blocks and what is between backticks."""
    return " ".join(re.findall(r"```.*?```|`[^`]+`", text, re.DOTALL))


def unnamed(names: set[str], title: str) -> list[str]:
    code = code_in(section(title))
    return sorted(name for name in names if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", code))


def test_every_name_that_can_be_imported_is_there() -> None:
    code = code_in(PAGE.read_text())
    assert not [name for name in shoal.__all__ if not re.search(rf"\b{name}\b", code)]


@pytest.mark.parametrize(("cls", "title"), list(CLASSES.items()))
def test_every_attribute_and_parameter_of_a_class_is_there(cls: type, title: str) -> None:
    names = {name for name, _ in public(cls)}
    methods = [value for _, value in public(cls) if inspect.isfunction(value)]
    for method in methods:
        names |= parameters(method)
    assert names and not unnamed(names, title)


@pytest.mark.parametrize(("name", "title"), list(FUNCTIONS.items()))
def test_every_parameter_of_a_function_is_there(name: str, title: str) -> None:
    assert not unnamed(parameters(getattr(shoal, name)) | {name}, title)


def test_every_way_to_fetch_a_request_is_there() -> None:
    names = set(RequestArguments.__annotations__) | parameters(Request.__init__)
    assert not unnamed(names, "Request")


def test_every_argument_of_a_field_is_there() -> None:
    assert not unnamed(set(FieldArguments.__annotations__), "Item")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(Shop(hosts=1), log=tmp_path_factory.mktemp("shop") / "site.log") as site:
        yield site


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: re.findall(r"def (\w+)", text)[0])
def test_every_example_runs_and_finds_items(text: str, shop: Running, tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text(text.replace("https://shop.test/", shop.url()))
    report = load_spider(str(path)).run(tmp_path / "home", rate=0, allow_private=True)
    assert report.overview.stored.items > 1
    assert report.overview.stored.dead == 0
