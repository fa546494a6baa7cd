"""Makes a Spider of rules: its callbacks are functions like any other's, its items are classes like those of code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import create_model
from pydantic_core import PydanticUndefined

from shoal.errors import UsageError
from shoal.spiders import picks
from shoal.spiders.item import Item
from shoal.spiders.page import Page
from shoal.spiders.rule_cost import cost_of
from shoal.spiders.rules.keys import RULES, START, TYPES
from shoal.spiders.rules.meaning import check_meaning, default_value, type_name
from shoal.spiders.rules.written import Faults, read
from shoal.spiders.spider import Options, Spider

_FIELDS: dict[str, Callable[..., Any]] = {
    "css": picks.css,
    "xpath": picks.xpath,
    "jsonpath": picks.jsonpath,
    "regex": picks.regex,
}
Rules = Mapping[str, Any]
Make = tuple[str | None, type[Item]]
"""What `each` says, if it does, and the class to make of it."""
Follow = tuple[str, str | None, int]
"""A selector, the page it leads to, and the priority."""


def load(path: Path) -> Spider:
    """Raises UsageError with every fault, as FILE:LINE:COLUMN: what is wrong."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"rules {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise UsageError(f"{path}:{line}:{column}: this is no UTF-8; save the file as UTF-8") from None
    return _spider(_checked(text, str(path), path.stem))


def from_json(text: str) -> Spider:
    """From `Spider.rules`, or from rules that a caller sent; otherwise as `load`."""
    return _spider(_checked(text, "rules", "rules"))


def _checked(text: str, file: str, name: str) -> Rules:
    """With its name, which is `name` unless it says otherwise."""
    faults = Faults(file)
    written = read(text, faults)
    RULES.check("the file", written, faults)
    check_meaning(written, name, faults)
    faults.raise_if_any()
    return {"name": name, **written.plain()}


def _spider(rules: Rules) -> Spider:
    pages = {START: rules, **rules.get("pages", {})}
    makes = {page: list(_makes(about, rules["name"] if page == START else page)) for page, about in pages.items()}
    follows = {page: [_follow(link) for link in about.get("follow", ())] for page, about in pages.items()}
    callbacks = [_callback(page, makes[page], follows[page]) for page in pages]
    start = rules["start"]
    spider = Spider(callbacks[0], (start,) if isinstance(start, str) else tuple(start), rules["name"], _options(rules))
    for callback in callbacks[1:]:
        spider.callback(callback)
    spider.rules = json.dumps(rules)
    spider.costs = {page: cost_of(makes[page], [link[0] for link in follows[page]]) for page in pages}
    spider.costs[""] = spider.costs[START]
    spider.item_types = tuple({cls.__name__: cls for page in makes.values() for _, cls in page}.values())
    return spider


def _options(rules: Rules) -> Options:
    given = rules.get("options", {})
    options: Options = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}  # type: ignore[assignment]
    return options


def _callback(name: str, makes: list[Make], follows: list[Follow]) -> Callable[[Page], Iterator[Any]]:
    def callback(page: Page) -> Iterator[Any]:
        for each, cls in makes:
            if each is None:
                yield page.item(cls)
            else:
                yield from page.each(each, cls)
        for selector, to, priority in follows:
            yield from page.follow(selector, to, priority=priority)

    callback.__name__ = name
    return callback


def _follow(link: str | Rules) -> Follow:
    if isinstance(link, str):
        return link, None, 0
    kind, text = next((kind, link[kind]) for kind in _FIELDS if kind in link)
    if kind == "xpath":
        # `follow` tells XPath by its spelling, which `a/@href` lacks.
        text = text if text.startswith(("/", "./", "(")) else f"({text})"
    return text, link.get("to"), link.get("priority", 0)


def _makes(page: Rules, name: str) -> Iterator[Make]:
    for index, item in enumerate(page.get("items", ())):
        named = item.get("name", type_name(name, index))
        yield item.get("each"), _item_class(named, item["fields"], item.get("key", ()))


def _item_class(name: str, fields: Rules, key: str | Sequence[str] = ()) -> type[Item]:
    made = {field: _field(f"{name}_{field}", about) for field, about in fields.items()}
    keys = {"key": (key,) if isinstance(key, str) else tuple(key)}
    return create_model(name, __base__=Item, __cls_kwargs__=keys, **made)  # type: ignore[call-overload,no-any-return]


def _field(path: str, about: str | Rules) -> tuple[Any, Any]:
    """The annotation and what stands behind the equals sign, as in a class."""
    if isinstance(about, str):
        return str, _FIELDS[picks.pick_by_spelling(about).kind](about)
    kind = next((kind for kind in _FIELDS if kind in about), None)
    if "fields" in about:
        return _nested(path, about, kind)
    to = TYPES[about.get("type", "text")]
    named = {"re": about["re"]} if "re" in about else {}
    default = default_value(about["default"], about.get("type", "text")) if "default" in about else PydanticUndefined
    assert kind is not None, "rules are checked before they are made"
    pick = _FIELDS[kind](about[kind], default=default, **named)
    return list[to] if "list" in about else _optional(to, about), pick  # type: ignore[valid-type]


def _nested(path: str, about: Rules, kind: str | None) -> tuple[Any, Any]:
    cls = _item_class(path, about["fields"])
    if kind is not None:
        return _optional(cls, about), _FIELDS[kind](about[kind])
    each = about["each"]
    return list[cls], _FIELDS[picks.pick_by_spelling(each).kind](each)  # type: ignore[valid-type]


def _optional(to: type, about: Rules) -> Any:
    return to | None if "optional" in about else to
