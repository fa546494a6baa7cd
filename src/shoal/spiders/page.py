"""A page as a callback sees it: select from it, make items of it, follow its links."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlencode

from shoal.extract.document import Document, Node
from shoal.extract.elements import attribute_of, attributes_of
from shoal.extract.joining import join, joined
from shoal.extract.json_text import parsed_json
from shoal.extract.page import MAX_TITLE, Reading, read
from shoal.extract.selectors import Css
from shoal.fetch.charset import charset
from shoal.fetch.queries import queries_in
from shoal.spiders.item import Item, Reject
from shoal.spiders.picks import Data, Place, pick_by_spelling
from shoal.spiders.plan import plan_of

I = TypeVar("I", bound=Item)  # noqa: E741

Callback = Callable[..., Any]
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
HTML_TYPES = ("text/html", "application/xhtml+xml")


@dataclass(slots=True)
class Request:
    """A request to offer. Scope, robots and limits still decide whether it is fetched."""

    url: str
    method: str = "GET"
    body: bytes = b""
    content_type: str = ""
    callback: str | None = None
    """None: the callback that made it."""
    meta: Mapping[str, Any] | None = None
    priority: int = 0

    @property
    def is_plain(self) -> bool:
        """A GET without a body: the URL says it all."""
        return self.method == "GET" and not self.body


@dataclass
class Page:
    url: str
    body: bytes
    """Without its content codings; text is UTF-8 in `html`."""
    status: int = 200
    content_type: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0
    html: bytes = b""
    rejects: list[Reject] = field(default_factory=list)
    """Items that failed validation."""

    @cached_property
    def document(self) -> Document:
        return Document(self.html or self.body, self.url)

    @cached_property
    def reading(self) -> Reading:
        return read(self.html or self.body)

    @property
    def text(self) -> str:
        """Visible text, whitespace folded."""
        return self.reading.text()

    @property
    def title(self) -> str | None:
        return self.reading.title

    def parsed_title(self) -> str | None:
        """The title if the page has been parsed as HTML anyway; it is not worth parsing for."""
        document = self.__dict__.get("document")
        node = document.root.css_first("title") if document is not None and document.is_parsed else None
        return (" ".join(node.text().split())[:MAX_TITLE] or None) if node else None

    @cached_property
    def base_url(self) -> str:
        """What its links are relative to."""
        node = self.document.root.css_first("base[href]") if self.content_type in HTML_TYPES else None
        base = node.attrs.get("href") if node else None
        try:
            return join(self.url, base) if base else self.url
        except ValueError:
            return self.url

    @cached_property
    def data(self) -> Any:
        """The body as JSON; raises BadJson."""
        return parsed_json(self.html or self.body)

    def css(self, selector: str) -> list[Node]:
        return self.document.css(selector)

    def xpath(self, selector: str) -> list[Node]:
        return self.document.xpath(selector)

    def json(self, path: str = "$") -> list[Any]:
        """The values of a JSON body that a path leads to."""
        return pick_by_spelling(path).values(Data(self.data))

    def each(self, selector: str, cls: type[I]) -> Iterator[I]:
        """An item of each element (CSS, or XPath from `/`) or JSON value (from `$`) that matches."""
        picked = pick_by_spelling(selector)
        plan, base_url = plan_of(cls), self.base_url
        if isinstance(picked.how, Css):
            root = self.document.root
            items = plan.read_each(picked.how.nodes(root), root, base_url)
        else:
            places = list(picked.places(self._place(picked.kind)))
            items = (plan.read(place, base_url) for place in places)
        for item in items:
            if isinstance(item, Reject):
                self.rejects.append(item)
            else:
                yield item  # type: ignore[misc]

    def item(self, cls: type[I]) -> I | None:
        """One item from the whole page; None if it failed validation, which is counted and kept."""
        plan = plan_of(cls)
        from_data = any(slot.pick.kind == "jsonpath" for slot in plan.slots)
        item = plan.read(self._place("jsonpath" if from_data else "css"), self.base_url)
        if isinstance(item, Reject):
            self.rejects.append(item)
            return None
        return item  # type: ignore[return-value]

    def follow(
        self,
        selector: str,
        to: Callback | str | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        priority: int = 0,
    ) -> Iterator[Request]:
        """Requests for where the matching elements lead (href or src), or for the URLs that the selector gives."""
        callback = _name(to)
        links = self._links(selector)
        if self.html and self.html is not self.body:
            links = queries_in(charset(self.body, self.headers.get("content-type", ""))[0], links)
        for url in joined(self.base_url, links):
            yield Request(url, callback=callback, meta=meta, priority=priority)

    def request(
        self,
        url: str,
        to: Callback | str | None = None,
        *,
        method: str | None = None,
        form: Mapping[str, str] | None = None,
        json: Any = None,
        meta: Mapping[str, Any] | None = None,
        priority: int = 0,
    ) -> Request:
        """A request of any kind: `form` and `json` make it a POST unless `method` says otherwise."""
        body, content_type = _encoded(form, json)
        return Request(
            join(self.base_url, url),
            method or ("POST" if body else "GET"),
            body,
            content_type,
            _name(to),
            meta,
            priority,
        )

    def _place(self, kind: str) -> Place:
        return Data(self.data) if kind == "jsonpath" else self.document

    def _links(self, selector: str) -> list[str]:
        picked = pick_by_spelling(selector)
        gives_text = picked.kind == "jsonpath" or (picked.kind == "css" and "::" in selector)
        places = [] if gives_text else picked.places(self.document)
        nodes = [place.root for place in places if isinstance(place, Node)]
        if not nodes and (gives_text or "@" in selector):
            # An XPath may end in an attribute; a JSON value may be null.
            values = picked.values(self._place(picked.kind))
            return [str(value) for value in values if value is not None]
        hrefs = zip(nodes, attributes_of(nodes, "href"), strict=True)
        return [link for node, href in hrefs if (link := href or attribute_of(node, "src"))]


def _name(to: Callback | str | None) -> str | None:
    return to if to is None or isinstance(to, str) else to.__name__


def _encoded(form: Mapping[str, str] | None, data: Any) -> tuple[bytes, str]:
    if form is not None:
        return urlencode(form).encode(), FORM
    if data is not None:
        return json.dumps(data).encode(), JSON
    return b"", ""
