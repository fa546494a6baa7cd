"""Text and types as HTML that stands within a line."""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

Schema = dict[str, Any]
_BOUNDS = (("minimum", "at least"), ("maximum", "at most"), ("minLength", "at least"), ("maxLength", "at most"))
_BEYOND_COUNTING = 10**9
"""Bounds from here on are not shown."""
_TYPES = {"integer": "whole number", "boolean": "true or false", "string": "text", "object": "object", "null": "null"}


def prose(text: str) -> str:
    """Text with `code` in backticks."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def attribute(text: str) -> str:
    """A value of an attribute, or the part of an address after #, in quotes."""
    return f'"{escape(text)}"'


def schema_link(name: str) -> str:
    return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'


def type_html(schema: Schema) -> str:
    """What a value may be, in words."""
    if "$ref" in schema:
        return schema_link(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return _code(schema["const"])
    if "enum" in schema:
        return ", ".join(map(_code, schema["enum"]))
    for either in ("anyOf", "oneOf"):
        if either in schema and "type" not in schema:
            return " or ".join(dict.fromkeys(map(type_html, schema[either])))
    kind = schema.get("type")
    if kind == "array":
        parts = schema.get("prefixItems") or [schema.get("items", {})]
        return f"list of {' and '.join(map(type_html, parts))}{_bounds(schema)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        return f"object: name to {type_html(schema['additionalProperties'])}"
    if isinstance(kind, list):
        return " or ".join(_TYPES.get(str(one), str(one)) for one in kind)
    return f"{_TYPES.get(str(kind), str(kind)) if kind else 'anything'}{_bounds(schema)}"


def default_html(schema: Schema) -> str:
    """The default, unless it is nothing."""
    default = schema.get("default")
    return "" if default in (None, [], {}, "") or isinstance(default, dict) else f"default {_code(default)}"


def _bounds(schema: Schema) -> str:
    unit = " characters" if schema.get("type") == "string" else ""
    said = [
        f"{words} {schema[name]:,}{unit}"
        for name, words in _BOUNDS
        if name in schema and abs(schema[name]) < _BEYOND_COUNTING and (name, schema[name]) != ("minLength", 1)
    ]
    return f" ({', '.join(said)})" if said else ""


def _code(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return f"<code>{escape(text)}</code>"
