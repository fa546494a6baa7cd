"""One schema as HTML: its fields, each with its type, and links to other schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.control.docs_page.inline_html import Schema, attribute, default_html, prose, type_html


def schema_html(name: str, schema: Schema) -> Iterator[str]:
    about, _, more = schema.get("description", "").partition("\n\n")
    yield f"<details class=schema id={attribute(f'schema-{name}')}>"
    yield f"<summary><code>{prose(name)}</code> <span>{prose(' '.join(about.split()))}</span></summary>"
    if more:
        yield f"<p>{prose(' '.join(more.split()))}</p>"
    fields = schema.get("properties")
    if fields:
        yield from fields_html(fields, schema.get("required", ()))
    else:
        yield f"<p>{type_html(schema)}</p>"
    yield "</details>"


def fields_html(fields: dict[str, Schema], required: Any) -> Iterator[str]:
    yield "<dl class=fields>"
    for name, schema in fields.items():
        notes = [type_html(schema), default_html(schema), "<b>required</b>" if name in required else ""]
        yield f"<dt><code>{prose(name)}</code> <span>{'; '.join(filter(None, notes))}</span>"
        yield f"<dd>{prose(' '.join(schema.get('description', '').split()))}"
    yield "</dl>"
