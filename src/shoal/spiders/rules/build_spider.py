"""Builds a Spider from rules: its callbacks are ordinary functions, its items ordinary Item classes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import create_model
from pydantic_core import PydanticUndefined

from shoal.errors import UsageError
from shoal.model.field_type import decimal_type
from shoal.model.options import SpiderOptions
from shoal.spiders import field_selectors
from shoal.spiders.item import Item
from shoal.spiders.page import Page
from shoal.spiders.request_arguments import RequestArguments
from shoal.spiders.rule_cost import cost_of
from shoal.spiders.rules.consistency import check_consistency, default_value, type_name
from shoal.spiders.rules.keys import RULES, START, TYPES, kind_of
from shoal.spiders.rules.parse_yaml import Faults, read
from shoal.spiders.spider import Spider

_FIELDS: dict[str, Callable[..., Any]] = {
    "css": field_selectors.css,
    "xpath": field_selectors.xpath,
    "jsonpath": field_selectors.jsonpath,
    "regex": field_selectors.regex,
    "page": field_selectors.page_url,
    "input": field_selectors.input_column,
}
Rules = Mapping[str, Any]
Make = tuple[str | None, type[Item]]
"""The `each` selector, if there is one, and the item class."""
Follow = tuple[str, str | None, int, RequestArguments]
"""A selector, the page that it leads to, the priority, and how to fetch it."""


def load(path: Path) -> Spider:
    """Raises UsageError with every fault, as FILE:LINE:COLUMN: message."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read the rules {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise UsageError(f"{path}:{line}:{column}: this is not UTF-8; save the file as UTF-8") from None
    return _spider(_checked(text, str(path), path.stem))


def from_json(text: str) -> Spider:
    """Takes `Spider.rules`, or rules that a client sent; otherwise like `load`."""
    return _spider(_checked(text, "rules", "rules"))


def _checked(text: str, file: str, name: str) -> Rules:
    """Adds the name: `name`, unless the rules have one."""
    faults = Faults(file)
    written = read(text, faults)
    RULES.check("the file", written, faults)
    check_consistency(written, name, faults)
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


def _options(rules: Rules) -> SpiderOptions:
    given = rules.get("options", {})
    options: SpiderOptions = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}  # type: ignore[assignment]
    return options


def _callback(name: str, makes: list[Make], follows: list[Follow]) -> Callable[[Page], Iterator[Any]]:
    def callback(page: Page) -> Iterator[Any]:
        for each, cls in makes:
            if each is None:
                yield page.item(cls)
            else:
                yield from page.each(each, cls)
        for selector, to, priority, fetching in follows:
            yield from page.follow(selector, to, priority=priority, **fetching)

    callback.__name__ = name
    return callback


def _follow(link: str | Rules) -> Follow:
    if isinstance(link, str):
        return link, None, 0, {}
    kind, text = next((kind, link[kind]) for kind in _FIELDS if kind in link)
    if kind == "xpath":
        # `follow` recognizes XPath by its first characters, which `a/@href` lacks.
        text = text if text.startswith(("/", "./", "(")) else f"({text})"
    fetching: RequestArguments = {name: link[name] for name in ("render", "steps") if name in link}  # type: ignore[assignment]
    return text, link.get("to"), link.get("priority", 0), fetching


def _makes(page: Rules, name: str) -> Iterator[Make]:
    for index, item in enumerate(page.get("items", ())):
        named = item.get("name", type_name(name, index))
        yield item.get("each"), _item_class(named, item["fields"], item.get("key", ()))


def _item_class(name: str, fields: Rules, key: str | Sequence[str] = ()) -> type[Item]:
    made = {field: _field(f"{name}_{field}", about) for field, about in fields.items()}
    keys = {"key": (key,) if isinstance(key, str) else tuple(key)}
    return create_model(name, __base__=Item, __cls_kwargs__=keys, **made)  # type: ignore[call-overload,no-any-return]


def _field(path: str, about: str | Rules) -> tuple[Any, Any]:
    """The annotation and the default of a field, as in a class."""
    if isinstance(about, str):
        return str, _FIELDS[field_selectors.pick_by_spelling(about).kind](about)
    kind = next((kind for kind in _FIELDS if kind in about), None)
    if "fields" in about:
        return _nested(path, about, kind)
    type = about.get("type", "text")
    to, decimal = TYPES[kind_of(type)], decimal_type(type)
    named: dict[str, Any] = {"re": about["re"]} if "re" in about else {}
    if "decimal" in about:
        named["decimal"] = about["decimal"]
    if decimal is not None:
        named["precision"] = (decimal.precision.digits, decimal.precision.places)
    default = default_value(about["default"], type) if "default" in about else PydanticUndefined
    assert kind is not None, "rules are checked before they are built"
    pick = _FIELDS[kind](about[kind], default=default, **named)
    if "from" in about:
        pick = field_selectors.read_from_page(pick)
    return list[to] if "list" in about else _optional(to, about), pick  # type: ignore[valid-type]


def _nested(path: str, about: Rules, kind: str | None) -> tuple[Any, Any]:
    cls = _item_class(path, about["fields"])
    if kind is not None:
        return _optional(cls, about), _FIELDS[kind](about[kind])
    each = about["each"]
    return list[cls], _FIELDS[field_selectors.pick_by_spelling(each).kind](each)  # type: ignore[valid-type]


def _optional(to: type, about: Rules) -> Any:
    return to | None if "optional" in about else to
