"""The OpenAPI document as one page of HTML: no script, nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font-family: ui-monospace, monospace; font-size: 13px }
pre { background: #f5f5f2; padding: .75rem; overflow-x: auto }
details { border-bottom: 1px solid #ddd; padding: .4rem 0 }
summary { cursor: pointer }
table { border-collapse: collapse } td, th { text-align: left; padding: .15rem 1rem .15rem 0; vertical-align: top }
.method { display: inline-block; width: 4.5rem; font-weight: 600 }
"""


def docs_page(document: dict[str, Any]) -> str:
    title = f"{document['info']['title']} {document['info']['version']}"
    return "\n".join(
        [
            f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>",
            f"<h1>{escape(title)}</h1><p>{escape(document['info']['description'])} Every call under <code>/api/v1"
            "</code> carries <code>Authorization: Bearer shoal_…</code>. The same for programs: "
            "<a href=/openapi.json>openapi.json</a>.</p>",
            "<h2>Calls</h2>",
            *_operations(document),
            "<h2>Problems</h2>",
            *_problems(document),
            "<h2>Shapes</h2>",
            *_shapes(document),
        ]
    )


def _operations(document: dict[str, Any]) -> Iterator[str]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            head = (
                f"<span class=method>{method.upper()}</span> <code>{escape(path)}</code> {escape(operation['summary'])}"
            )
            yield f"<details id={escape(operation['operationId'])}><summary>{head}</summary>"
            yield f"<p>{escape(operation.get('description', ''))}</p>"
            if scope := operation.get("x-scope"):
                yield f"<p>Scope: <code>{escape(scope)}</code></p>"
            yield from _table(_rows(operation))
            yield "</details>"


def _rows(operation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for parameter in operation["parameters"]:
        shape = json.dumps({name: value for name, value in parameter["schema"].items() if name != "title"})
        yield f"{parameter['in']} {parameter['name']}", parameter.get("description", ""), shape
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"body {media}", "", _name_of(content["schema"])
    for status, answer in operation["responses"].items():
        shapes = ", ".join(
            f"{media} {_name_of(of.get('schema', {}))}" for media, of in answer.get("content", {}).items()
        )
        yield status, answer["description"], shapes


def _name_of(schema: dict[str, Any]) -> str:
    return str(schema.get("$ref", schema.get("type", ""))).rpartition("/")[2]


def _table(rows: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield "<table>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
    yield "</table>"


def _problems(document: dict[str, Any]) -> Iterator[str]:
    answers = [
        answer for methods in document["paths"].values() for one in methods.values() for answer in [one["responses"]]
    ]
    reasons = {status: said["description"] for each in answers for status, said in each.items() if status >= "400"}
    yield "<table>"
    for status, reason in sorted(reasons.items()):
        yield f"<tr id=problem-{status}><td><code>{status}</code></td><td>{escape(reason)}</td></tr>"
    yield "</table>"


def _shapes(document: dict[str, Any]) -> Iterator[str]:
    for name, shape in document["components"]["schemas"].items():
        yield f"<details id={escape(name)}><summary><code>{escape(name)}</code></summary>"
        yield f"<pre>{escape(json.dumps(shape, indent=2))}</pre></details>"
