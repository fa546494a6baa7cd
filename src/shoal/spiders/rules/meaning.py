"""What must hold between the parts of rules: names that lead somewhere, fields that can be read together, one meaning
for each type. Parts that have a wrong shape are passed over; that has been told already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from shoal.extract.casts import cast
from shoal.extract.faults import BadSelector, CastError
from shoal.spiders.picks import pick_by_spelling
from shoal.spiders.rules.keys import START, TYPES
from shoal.spiders.rules.written import Faults, Written

_GIVES_TEXT = re.compile(r"::(?:text|html|attr\([^()]*\))\s*\Z")


def check_meaning(rules: Written, name: str, faults: Faults) -> None:
    """`name` is that of the rules, if they do not say."""
    given, below = rules.get("name"), rules.get("pages")
    pages = [(str(key.value), page) for key, page in below.pairs()] if below else []
    names = [START, *(page for page, _ in pages)]
    types: dict[str, tuple[Written, Any]] = {}
    for called, page in ((str(given.value) if given else name, rules), *pages):
        for link in _parts(page, "follow"):
            _check_target(link, names, faults)
        for index, item in enumerate(_parts(page, "items")):
            _check_item(item, faults)
            _check_type(item, type_name(called, index), types, faults)


def type_name(page: str, index: int) -> str:
    """Of the items of a page that do not say."""
    return f"{page}_{index + 1}" if index else page


def _check_target(link: Written, names: list[str], faults: Faults) -> None:
    to = link.get("to")
    if to is not None and isinstance(to.value, str) and to.value not in names:
        faults.add(to, f"to is {to.value!r}, which is no page; there are {', '.join(names)}")


def _check_item(item: Written, faults: Faults) -> None:
    each, fields = item.get("each"), item.get("fields")
    _check_elements(each, faults)
    if fields is None:
        return
    _check_kinds(fields, _source(_kind_by_spelling(each)), faults)
    names = [str(key.value) for key, _ in fields.pairs()]
    key = item.get("key")
    for part in (key.parts() or [key]) if key else []:
        if isinstance(part.value, str) and part.value not in names:
            faults.add(part, f"key is {part.value!r}, which is no field; there are {', '.join(names)}")


def _check_kinds(fields: Written, around: str | None, faults: Faults) -> None:
    """A page is read as HTML or as JSON; a field for the other would always be empty."""
    for name, field in fields.pairs():
        kind, pick = _pick_of(field)
        around = around or _source(kind)
        if _source(kind) not in (None, around):
            faults.add(
                pick, f"{name.value} is picked by {kind}, but the item is read from {around}: it is one or the other"
            )
        inner = field.get("fields")
        if inner is not None:
            _check_elements(pick, faults)
            _check_kinds(inner, _source(kind), faults)
        _check_default(field, faults)


def _check_elements(pick: Written | None, faults: Faults) -> None:
    if pick is not None and isinstance(pick.value, str) and (found := _GIVES_TEXT.search(pick.value)):
        faults.add(pick, f"{pick.value!r} gives texts, but fields are picked below elements", found.start() + 1)


def _check_default(field: Written, faults: Faults) -> None:
    default, kind = field.get("default"), field.get("type")
    wanted = kind.value if kind else "text"
    if default is None or default.value is None or isinstance(default.value, list | dict) or wanted not in TYPES:
        return
    try:
        default_value(default.value, str(wanted))
    except CastError as error:
        faults.add(default, f"default {default.value!r} is no {wanted}: {error.why}")


def default_value(written: Any, kind: str) -> Any:
    """Raises CastError."""
    return cast(str(written), TYPES[kind], base_url="about:blank")


def _check_type(item: Written, name: str, types: dict[str, tuple[Written, Any]], faults: Faults) -> None:
    """A type has one set of columns, so items that share its name share their fields."""
    given, fields, key = item.get("name"), item.get("fields"), item.get("key")
    if fields is None:
        return
    called = str(given.value) if given else name
    made_of = ({str(field.value): _shape_of(about) for field, about in fields.pairs()}, key and key.plain())
    first, before = types.setdefault(called, (given or item, made_of))
    if before != made_of:
        what = f"items named {called!r} have other fields or another key on line {first.line}; give these another name"
        faults.add(given or item, what)


def _shape_of(field: Written) -> Any:
    kind = field.get("type")
    inner = [part for part in ("each", "fields", "list") if field.get(part)]
    return inner, kind.plain() if kind else "text"


def _parts(page: Written, key: str) -> Iterator[Written]:
    found = page.get(key)
    yield from found.parts() if found else ()


def _pick_of(field: Written) -> tuple[str | None, Written]:
    for kind in ("css", "xpath", "jsonpath", "regex"):
        if pick := field.get(kind):
            return kind, pick
    spelt = field.get("each") or field
    return _kind_by_spelling(spelt), spelt


def _kind_by_spelling(selector: Written | None) -> str | None:
    try:
        return pick_by_spelling(selector.value).kind if selector and isinstance(selector.value, str) else None
    except BadSelector:
        return None


def _source(kind: str | None) -> str | None:
    """What a pick reads; a regular expression reads both."""
    return {"css": "HTML", "xpath": "HTML", "jsonpath": "JSON"}.get(kind or "")
