"""One call as HTML: parameters, bodies, answers, and examples with curl and Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from shoal.control.docs_page.inline_html import attribute, default_html, prose, type_html
from shoal.control.routes import API

Operation = dict[str, Any]
_LINE = 72
"""Characters of JSON on one line."""


def call_link(method: str, path: str, operation: Operation) -> str:
    """For the table of contents."""
    target = attribute(f"#{operation['operationId']}")
    return f"<a href={target}>{_method(method)} {escape(path.removeprefix(API))}</a>"


def call_html(method: str, path: str, operation: Operation) -> Iterator[str]:
    yield f"<details class=call id={attribute(operation['operationId'])}>"
    yield f"<summary>{_method(method)} <code>{escape(path)}</code> <span>{prose(operation['summary'])}</span></summary>"
    if about := operation.get("description"):
        yield f"<p>{prose(about)}</p>"
    scope = operation.get("x-scope")
    yield f"<p>Needs a token with the scope <code>{scope}</code>.</p>" if scope else "<p>Needs no token.</p>"
    yield from _parameters(operation["parameters"])
    if "requestBody" in operation:
        yield from _body(operation["requestBody"])
    yield from _answers(operation["responses"])
    yield "<h3>Example</h3>"
    for sample in operation["x-codeSamples"]:
        yield _figure(sample["lang"], sample["source"])
    yield f"<div class=try data-call={attribute(operation['operationId'])} hidden></div></details>"


def _method(method: str) -> str:
    return f"<b class={attribute(f'method {method}')}>{method.upper()}</b>"


def _parameters(parameters: list[dict[str, Any]]) -> Iterator[str]:
    if not parameters:
        return
    yield "<h3>Parameters</h3><dl class=fields>"
    for parameter in parameters:
        schema = parameter["schema"]
        required = "<b>required</b>" if parameter["required"] else ""
        notes = [f"in the {parameter['in']}", type_html(schema), default_html(schema), required]
        yield f"<dt><code>{escape(parameter['name'])}</code> <span>{'; '.join(filter(None, notes))}</span>"
        yield f"<dd>{prose(parameter.get('description', ''))}"
    yield "</dl>"


def _body(body: dict[str, Any]) -> Iterator[str]:
    content = body["content"]
    kinds = [f"{type_html(of['schema'])} as <code>{escape(media)}</code>" for media, of in content.items()]
    yield f"<h3>Body</h3><p>{', or '.join(reversed(kinds))}{'' if body['required'] else '; optional'}.</p>"
    for of in content.values():
        for about, example in of.get("examples", {}).items():
            yield _figure(about, json_text(example["value"]))


def _answers(responses: dict[str, Any]) -> Iterator[str]:
    yield "<h3>Answers</h3><table>"
    errors = []
    for status, answer in responses.items():
        if status >= "400" and "application/json" not in answer.get("content", {}):
            errors.append(f"<a href=#problem-{status}>{status}</a>")
            continue
        kinds = [
            type_html(of["schema"]) if "schema" in of else f"<code>{escape(media)}</code>"
            for media, of in answer.get("content", {}).items()
        ]
        about = prose(" ".join(answer["description"].split()))
        yield f"<tr><th scope=row><code>{status}</code><td>{', '.join(kinds)}<td>{about}"
    yield f"</table><p class=errors>Errors: {' '.join(sorted(errors))}</p>"


def json_text(value: Any, indent: str = "") -> str:
    """Each part on one line, if it is short."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _LINE or not isinstance(value, dict | list):
        return line
    inner = f"{indent}  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {json_text(part, inner)}" for name, part in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + json_text(part, inner) for part in value) + f"\n{indent}]"


def _figure(caption: str, text: str) -> str:
    return f"<figure><figcaption>{prose(caption)}</figcaption><pre><code>{escape(text)}</code></pre></figure>"
