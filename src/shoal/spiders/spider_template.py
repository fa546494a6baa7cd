"""Writes suggested fields as a file to start from: a spider in Python, or rules in YAML."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Sequence

from shoal.spiders.suggest_fields import SuggestedField, Suggestion

_ANNOTATIONS = {"text": "str", "decimal": "Decimal", "url": "Url", "datetime": "datetime"}
_IMPORTS = {"Decimal": "from decimal import Decimal", "datetime": "from datetime import datetime"}
DETAIL_TITLE = SuggestedField("title", "h1", optional=True)
"""The only suggestion for detail pages, which have not been seen."""
_TAKEN = frozenset(("Item", "Page", "Url", "css", "xpath", "spider", "detail", "Decimal", "datetime"))


def spider_name(stem: str) -> str:
    """Turns a file name into a Python name."""
    name = re.sub(r"\W+", "_", stem).strip("_").lower()
    if not name or not name.isascii() or name[0].isdigit():
        name = f"spider_{name}" if name.isascii() and name else "pages"
    return f"{name}_spider" if keyword.iskeyword(name) or name in _TAKEN else name


def as_python(name: str, url: str, proposal: Suggestion, flags: Sequence[str] = ()) -> str:
    """`flags`: options of the job that are on."""
    title = "".join(part.title() for part in name.split("_"))
    item, detail = f"{title}Item", f"{title}Detail"
    parts = [_imports(proposal), _item_class(item, proposal.fields)]
    if proposal.details:
        parts.append(_item_class(detail, (DETAIL_TITLE,)))
    given = ", ".join([_quoted(url), *(f"{flag}=True" for flag in flags)])
    start = [f"@spider({given})", f"def {name}(page: Page):", *_yields(item, proposal)]
    parts.append("\n".join(start))
    if proposal.details:
        parts.append(f"@{name}.callback\ndef detail(page: Page):\n    yield page.item({detail})")
    return "\n\n\n".join(parts) + "\n"


def _yields(item: str, proposal: Suggestion) -> Iterator[str]:
    if proposal.each:
        yield f"    yield from page.each({_quoted(proposal.each)}, {item})"
    else:
        yield f"    yield page.item({item})"
    if proposal.next_page:
        yield f"    yield from page.follow({_quoted(proposal.next_page)})"
    if proposal.details:
        yield f"    yield from page.follow({_quoted(proposal.details)}, to=detail)"


def as_rules(name: str, url: str, proposal: Suggestion, flags: Sequence[str] = ()) -> str:
    lines = [f"name: {name}", f"start: [{_quoted(url)}]"]
    lines += [f"options: {{{', '.join(f'{flag}: true' for flag in flags)}}}"] if flags else []
    lines += [*_follow_rules(proposal), "items:"]
    lines += [f"  - each: {_quoted(proposal.each)}", "    fields:"] if proposal.each else ["  - fields:"]
    lines += [f"      {field.name}: {_rule(field)}" for field in proposal.fields]
    if proposal.details:
        lines += ["pages:", "  detail:", "    items:", "      - fields:"]
        lines.append(f"          {DETAIL_TITLE.name}: {_rule(DETAIL_TITLE)}")
    return "\n".join(lines) + "\n"


def _follow_rules(proposal: Suggestion) -> Iterator[str]:
    if proposal.next_page or proposal.details:
        yield "follow:"
    if proposal.next_page:
        kind = "xpath" if proposal.next_page.startswith("/") else "css"
        yield f"  - {{{kind}: {_quoted(proposal.next_page)}}}"
    if proposal.details:
        yield f"  - {{css: {_quoted(proposal.details)}, to: detail}}"


def _imports(proposal: Suggestion) -> str:
    used = {_ANNOTATIONS[field.type] for field in proposal.fields}
    standard = [line for name, line in sorted(_IMPORTS.items()) if name in used]
    ours = f"from shoal import Item, Page, {'Url, ' if 'Url' in used else ''}css, spider"
    return "\n".join([*standard, *[""] * bool(standard), ours])


def _item_class(name: str, fields: tuple[SuggestedField, ...]) -> str:
    lines = (
        f"    {field.name}: {_ANNOTATIONS[field.type]}{' | None' * field.optional} = css({_quoted(field.css)})"
        for field in fields
    )
    return "\n".join([f"class {name}(Item):", *lines])


def _rule(field: SuggestedField) -> str:
    kind = "" if field.type == "text" else f", type: {field.type}"
    return f"{{css: {_quoted(field.css)}{kind}{', optional: true' * field.optional}}}"


def _quoted(text: str | None) -> str:
    """A literal that is valid in both Python and YAML."""
    return json.dumps(text)
