"""Checks that the parts of rules fit together: names refer to something, fields can be read together, and each type
has one meaning. Parts of a wrong shape are skipped: they have been reported already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shoal.extract.casts import cast
from shoal.extract.extract_errors import BadSelector, CastError
from shoal.model.field_type import decimal_type
from shoal.spiders.field_selectors import pick_by_spelling
from shoal.spiders.rules.keys import START, TYPES, kind_of
from shoal.spiders.rules.parse_yaml import Faults, YamlValue

_GIVES_TEXT = re.compile(r"::(?:text|html|attr\([^()]*\))\s*\Z")


def check_consistency(rules: YamlValue, name: str, faults: Faults) -> None:
    """`name` is the rules' name if they have none of their own."""
    given, below = rules.get("name"), rules.get("pages")
    pages = [(str(key.value), page) for key, page in below.pairs()] if below else []
    names = [START, *(page for page, _ in pages)]
    types: dict[str, tuple[YamlValue, Any]] = {}
    for called, page in ((str(given.value) if given else name, rules), *pages):
        for link in _parts(page, "follow"):
            _check_target(link, names, faults)
        for index, item in enumerate(_parts(page, "items")):
            _check_item(item, faults)
            _check_type(item, type_name(called, index), types, faults)


def type_name(page: str, index: int) -> str:
    """The name of a page's items that have none of their own."""
    return f"{page}_{index + 1}" if index else page


def _check_target(link: YamlValue, names: list[str], faults: Faults) -> None:
    to = link.get("to")
    if to is not None and isinstance(to.value, str) and to.value not in names:
        faults.add(to, f"to is {to.value!r}, which is not a page; there are {', '.join(names)}")


def _check_item(item: YamlValue, faults: Faults) -> None:
    each, fields = item.get("each"), item.get("fields")
    _check_elements(each, faults)
    if fields is None:
        return
    _check_kinds(fields, _source(_kind_by_spelling(each)), faults)
    names = [str(key.value) for key, _ in fields.pairs()]
    key = item.get("key")
    for part in (key.parts() or [key]) if key else []:
        if isinstance(part.value, str) and part.value not in names:
            faults.add(part, f"key is {part.value!r}, which is not a field; there are {', '.join(names)}")


def _check_kinds(fields: YamlValue, around: str | None, faults: Faults) -> None:
    """A page is either HTML or JSON, so a field for the other would always be empty."""
    for name, field in fields.pairs():
        kind, pick = _pick_of(field)
        around = around or _source(kind)
        if _source(kind) not in (None, around):
            faults.add(pick, f"{name.value} uses {kind}, but the item is read from {around}: use one or the other")
        inner = field.get("fields")
        if inner is not None:
            _check_elements(pick, faults)
            _check_kinds(inner, _source(kind), faults)
            _check_not_of_page(inner, faults)
        _check_decimal_sign(field, faults)
        _check_default(field, faults)


def _check_not_of_page(fields: YamlValue, faults: Faults) -> None:
    for name, field in fields.pairs():
        for key in ("from", "page", "input"):
            if (found := field.get(key)) is not None:
                faults.add(found, f"{name.value} is read from the page: put it beside the other fields of the item")


def _check_elements(pick: YamlValue | None, faults: Faults) -> None:
    if pick is not None and isinstance(pick.value, str) and (found := _GIVES_TEXT.search(pick.value)):
        faults.add(pick, f"{pick.value!r} selects text, but fields need elements", found.start() + 1)


def _check_decimal_sign(field: YamlValue, faults: Faults) -> None:
    sign, kind = field.get("decimal"), field.get("type")
    if sign and kind and kind_of(str(kind.value)) not in ("decimal", "integer", "number"):
        faults.add(sign, "decimal is for numbers: give type decimal, number or integer, or leave it out")


def _check_default(field: YamlValue, faults: Faults) -> None:
    default, kind = field.get("default"), field.get("type")
    wanted = kind.value if kind else "text"
    if default is None or default.value is None or isinstance(default.value, list | dict):
        return
    if not isinstance(wanted, str) or kind_of(wanted) not in TYPES:
        return
    try:
        default_value(default.value, wanted)
    except CastError as error:
        faults.add(default, f"default {default.value!r} is not a valid {wanted}: {error.why}")
    except ValueError:
        # A precision that no decimal has, which the check of the type reports.
        pass


def default_value(written: Any, type: str) -> Any:
    """Raises CastError."""
    value = cast(str(written), TYPES[kind_of(type)], base_url="about:blank")
    decimal = decimal_type(type)
    if decimal and not decimal.precision.holds(value):
        raise CastError(str(written), type, "it has too many digits")
    return value


def _check_type(item: YamlValue, name: str, types: dict[str, tuple[YamlValue, Any]], faults: Faults) -> None:
    """A type has one set of columns, so items with the same name must have the same fields."""
    given, fields, key = item.get("name"), item.get("fields"), item.get("key")
    if fields is None:
        return
    called = str(given.value) if given else name
    made_of = ({str(field.value): _shape_of(about) for field, about in fields.pairs()}, key and key.plain())
    first, before = types.setdefault(called, (given or item, made_of))
    if before != made_of:
        what = f"items named {called!r} have other fields or another key on line {first.line}; give these another name"
        faults.add(given or item, what)


def _shape_of(field: YamlValue) -> Any:
    kind = field.get("type")
    inner = [part for part in ("each", "fields", "list") if field.get(part)]
    return inner, kind.plain() if kind else "text"


def _parts(page: YamlValue, key: str) -> Iterator[YamlValue]:
    found = page.get(key)
    yield from found.parts() if found else ()


def _pick_of(field: YamlValue) -> tuple[str | None, YamlValue]:
    for kind in ("css", "xpath", "jsonpath", "regex"):
        if pick := field.get(kind):
            return kind, pick
    spelt = field.get("each") or field
    return _kind_by_spelling(spelt), spelt


def _kind_by_spelling(selector: YamlValue | None) -> str | None:
    try:
        return pick_by_spelling(selector.value).kind if selector and isinstance(selector.value, str) else None
    except BadSelector:
        return None


def _source(kind: str | None) -> str | None:
    """What a pick reads; a regular expression reads both."""
    return {"css": "HTML", "xpath": "HTML", "jsonpath": "JSON"}.get(kind or "")
