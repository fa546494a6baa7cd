"""Renders the OpenAPI document as an HTML page for people.

The page can be read without JavaScript. `docs.js` adds a search and a form that sends calls with the reader's token.
Everything comes from this server, and the Content-Security-Policy allows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from shoal.control.docs_page.calls_html import call_html, call_link
from shoal.control.docs_page.inline_html import attribute, prose
from shoal.control.docs_page.schemas_html import schema_html

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ASSETS = {"docs.css": "text/css", "docs.js": "text/javascript"}

_INTRO = """\
<p>Every call under <code>/api/v1</code> needs a token, in the header <code>Authorization: Bearer shoal_…</code>.
<code>shoal token add NAME --scope submit</code> makes one. The scope <code>read</code> reads everything,
<code>submit</code> submits and controls its own jobs, and <code>admin</code> may do everything.</p>
<p>The examples use two variables of your shell, and a client for Python:</p>
<pre><code>export SHOAL_API_URL=http://127.0.0.1:8000 SHOAL_TOKEN=shoal_…</code></pre>
<pre><code>from shoal.client import Client

shoal = Client("http://127.0.0.1:8000", "shoal_…")</code></pre>"""
_TOOLS = """\
<form class=tools hidden>
<label>Search <input type=search id=search placeholder="a word of a call or a field" autocomplete=off></label>
<label>Token <input type=password id=token placeholder="shoal_… for “Try it”" autocomplete=off spellcheck=false></label>
</form>
<p class=nothing hidden>Nothing matches.</p>"""


def asset(name: str) -> str:
    return files("shoal.control.docs_page").joinpath(name).read_text("utf-8")


def docs_page(document: dict[str, Any]) -> str:
    return "\n".join(_lines(document))


def _lines(document: dict[str, Any]) -> Iterator[str]:
    title = f"{document['info']['title']} {document['info']['version']}"
    groups = _groups(document)
    yield f"<!doctype html><html lang=en><meta charset=utf-8><title>{prose(title)}: HTTP API</title>"
    yield '<meta name=viewport content="width=device-width, initial-scale=1">'
    # Relative, in case the API is served below a path.
    yield "<link rel=stylesheet href=docs/docs.css><script src=docs/docs.js defer></script>"
    yield "<nav aria-label=Contents>"
    yield from _contents(groups)
    yield "</nav><main>"
    yield f"<h1>{prose(title)} <small>HTTP API</small></h1><p>{prose(document['info']['description'])}"
    yield "For programs: <a href=openapi.json>openapi.json</a>.</p>"
    yield f"{_INTRO}{_TOOLS}"
    for (name, about), calls in groups.items():
        yield f"<section class=group><h2 id={attribute(f'about-{name}')}>{prose(name.capitalize())}</h2>"
        yield f"<p>{prose(about)}</p>"
        for method, path, operation in calls:
            yield from call_html(method, path, operation)
        yield "</section>"
    yield "<section><h2 id=errors>Errors</h2><p>An error is <code>application/problem+json</code>: "
    yield "<a href=#schema-ProblemDetails>ProblemDetails</a>. <code>detail</code> says what is wrong.</p>"
    yield from _problems(document)
    yield "</section><section class=group><h2 id=schemas>Schemas</h2><p>The JSON of bodies and answers.</p>"
    for name, schema in sorted(document["components"]["schemas"].items()):
        yield from schema_html(name, schema)
    yield "</section></main>"


Call = tuple[str, str, dict[str, Any]]


def _groups(document: dict[str, Any]) -> dict[tuple[str, str], list[Call]]:
    calls = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    return {
        (tag["name"], tag["description"]): [call for call in calls if call[2]["tags"] == [tag["name"]]]
        for tag in document["tags"]
    }


def _contents(groups: dict[tuple[str, str], list[Call]]) -> Iterator[str]:
    for (name, _), calls in groups.items():
        yield f"<h2><a href={attribute(f'#about-{name}')}>{prose(name.capitalize())}</a></h2><ul>"
        for method, path, operation in calls:
            yield f"<li>{call_link(method, path, operation)}"
        yield "</ul>"
    yield "<h2><a href=#errors>Errors</a></h2><h2><a href=#schemas>Schemas</a></h2>"


def _problems(document: dict[str, Any]) -> Iterator[str]:
    answers = [operation["responses"] for methods in document["paths"].values() for operation in methods.values()]
    reasons = {status: one["description"] for each in answers for status, one in each.items() if status >= "400"}
    yield "<table>"
    for status, reason in sorted(reasons.items()):
        yield f"<tr id=problem-{status}><th scope=row><code>{status}</code><td>{prose(reason)}"
    yield "</table>"
