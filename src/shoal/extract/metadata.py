"""What a page says of itself for machines: author and times, OpenGraph, Twitter cards, JSON-LD, microdata, language.

Everything is plain dicts, lists and strings that JSON can hold. Junk is left out, and so is what lies beyond a cap.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from ada_url import join_url
from selectolax.lexbor import LexborNode

from shoal.extract.authorship import authorship, main_entity
from shoal.extract.document import Document
from shoal.extract.elements import attribute_of, text_of
from shoal.extract.extract_errors import BadJson
from shoal.extract.parse_json import Json, parsed_json

MAX_ENTRIES = 500
"""Maximum per kind and page."""
MAX_VALUE = 10_000
MAX_NESTING = 20

Properties = dict[str, Any]

_LINKED = {"a": "href", "area": "href", "link": "href", "img": "src", "audio": "src", "video": "src", "source": "src"}
_LINKED |= {"embed": "src", "iframe": "src", "track": "src", "object": "data"}
_VALUED = {"meta": "content", "data": "value", "meter": "value", "time": "datetime"}


def metadata(document: Document, html: bytes = b"") -> dict[str, Any]:
    """`author`, `published`, `modified`, `main_entity`, and what the page says in `opengraph`, `article`, `twitter`,
    `json_ld`, `microdata` and `language`; raises UnparsablePage. `html` is the page before it was parsed."""
    linked_data = json_ld(document)
    main = main_entity(linked_data)
    return {
        **authorship(document, main, linked_data, html)._asdict(),
        "main_entity": main,
        "opengraph": _cards(document, "og:"),
        "article": _cards(document, "article:"),
        "twitter": _cards(document, "twitter:"),
        "json_ld": linked_data,
        "microdata": microdata(document),
        "language": language(document),
    }


def language(document: Document) -> str | None:
    """From the html element, else a meta element, else og:locale; as written, but with hyphens."""
    root = document.root
    spelt = attribute_of(root, "lang") or attribute_of(root, "xml:lang")
    for query in ('meta[http-equiv="content-language" i]', 'meta[name="language" i]', 'meta[property="og:locale" i]'):
        if spelt:
            break
        node = root.css_first(query)
        spelt = attribute_of(node, "content") if node else None
    return (spelt or "").strip().replace("_", "-")[:35] or None


def _cards(document: Document, prefix: str) -> Properties:
    """Values by name without the prefix. A repeated name has a list of values."""
    found: Properties = {}
    for node in document.root.css("meta[property], meta[name]")[: MAX_ENTRIES * 2]:
        name = attribute_of(node, "property") or attribute_of(node, "name") or ""
        content = attribute_of(node, "content")
        if content and name.lower().startswith(prefix):
            _add(found, name.lower().removeprefix(prefix)[:100], content.strip()[:MAX_VALUE])
    return found


def json_ld(document: Document) -> list[Properties]:
    """The objects of all valid blocks. Objects in lists and in `@graph` are returned one by one."""
    found: list[Properties] = []
    for node in document.root.css('script[type="application/ld+json" i]')[:MAX_ENTRIES]:
        try:
            _flatten(parsed_json(_bare(node.text()), _finite), found)
        except BadJson:
            continue
    return found[:MAX_ENTRIES]


def _bare(script: str) -> str:
    """Removes comments and semicolons that templates put around JSON."""
    text = script.strip()
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("//<![CDATA[", "//]]>"), ("", ";")):
        text = text.removeprefix(opening).removesuffix(closing).strip()
    return text


def _finite(spelt: str) -> float:
    number = float(spelt)
    if not isfinite(number):
        raise ValueError(f"{spelt[:20]} is too large")
    return number


def _flatten(value: Json, found: list[Properties]) -> None:
    pending = [value]
    while pending and len(found) < MAX_ENTRIES:
        each = pending.pop(0)
        if isinstance(each, list):
            pending[:0] = each[:MAX_ENTRIES]
        elif isinstance(each, dict) and isinstance(each.get("@graph"), list):
            context = {"@context": each["@context"]} if "@context" in each else {}
            pending[:0] = [context | part for part in each["@graph"][:MAX_ENTRIES] if isinstance(part, dict)]
        elif isinstance(each, dict) and each:
            found.append(each)


def microdata(document: Document) -> list[Properties]:
    """Top-level items, as `{"type": …, "properties": {name: value or list}}`."""
    tops = document.root.css("[itemscope]:not([itemprop])")
    return [_item(node, document.url, 0) for node in tops[:MAX_ENTRIES]]


def _item(scope: LexborNode, url: str, nesting: int) -> Properties:
    properties: Properties = {}
    pending = list(scope.iter())[::-1]
    while pending:
        node = pending.pop()
        names = (attribute_of(node, "itemprop") or "").split()
        is_item = attribute_of(node, "itemscope") is not None
        if names:
            value = _item(node, url, nesting + 1) if is_item and nesting < MAX_NESTING else _value(node, url)
            for name in names[:10]:
                _add(properties, name, value)
        if not is_item:
            pending.extend(list(node.iter())[::-1])
    item: Properties = {"type": attribute_of(scope, "itemtype") or None, "properties": properties}
    if identity := attribute_of(scope, "itemid"):
        item["id"] = identity
    return item


def _value(node: LexborNode, url: str) -> str:
    tag = node.tag or ""
    if tag in _LINKED:
        return _absolute(url, attribute_of(node, _LINKED[tag]) or "")
    value = attribute_of(node, _VALUED[tag]) if tag in _VALUED else attribute_of(node, "content")
    return (text_of(node) if value is None else value.strip())[:MAX_VALUE]


def _absolute(url: str, href: str) -> str:
    try:
        return str(join_url(url, href))
    except ValueError:
        return href


def _add(properties: Properties, name: str, value: Any) -> None:
    if name not in properties:
        if len(properties) < MAX_ENTRIES:
            properties[name] = value
    elif isinstance(properties[name], list):
        if len(properties[name]) < MAX_ENTRIES:
            properties[name].append(value)
    else:
        properties[name] = [properties[name], value]
