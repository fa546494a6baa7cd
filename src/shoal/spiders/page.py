"""The page that a callback gets: select from it, read items from it, follow its links."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, Unpack
from urllib.parse import urlencode

from shoal.errors import UsageError
from shoal.extract.document import Document, Node
from shoal.extract.elements import attribute_of, attributes_of
from shoal.extract.html_tags import HTML_TYPES
from shoal.extract.number_languages import decimal_sign, declared_language
from shoal.extract.page import PageHead, PageReading, read, read_head
from shoal.extract.parse_json import parsed_json
from shoal.extract.selectors import Css
from shoal.extract.url_join import join, joined
from shoal.fetch.charset import charset
from shoal.fetch.query_encoding import queries_in
from shoal.fetch.rendered_page import PageCall, RenderedPage
from shoal.model import RequestOptions
from shoal.spiders.field_selectors import JsonData, Place, pick_by_spelling
from shoal.spiders.item import Item, Reject
from shoal.spiders.item_reader import ItemReader, item_reader_for
from shoal.spiders.request_arguments import RequestArguments, callback_name, check_request, check_trail, request_options
from shoal.urls.url_patterns import compiled

I = TypeVar("I", bound=Item)  # noqa: E741

Callback = Callable[..., Any]
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


@dataclass(slots=True, init=False)
class Request:
    """A request to offer. Scope, robots.txt and limits still decide whether it is fetched."""

    url: str
    method: str
    body: bytes
    content_type: str
    callback: str | None
    """None: the same callback as for this page."""
    meta: Mapping[str, Any] | None
    priority: int
    options: RequestOptions | None
    """How to fetch it: from headers, cookies, errors, statuses, timeout, render, steps, session and region; None if
    none is given."""

    def __init__(
        self,
        url: str,
        method: str = "GET",
        body: bytes = b"",
        content_type: str = "",
        callback: Callback | str | None = None,
        meta: Mapping[str, Any] | None = None,
        priority: int = 0,
        **fetching: Unpack[RequestArguments],
    ) -> None:
        """Raises UsageError for an argument that cannot be used."""
        # A page may have a thousand links, and nearly all of them have nothing but a URL.
        if type(url) is not str or method != "GET" or type(body) is not bytes or body or content_type != "":
            check_request(url, method, body, content_type)
        if meta is not None or type(priority) is not int or priority:
            check_trail(meta, priority)
        self.url = url
        self.method = method
        self.body = body
        self.content_type = content_type
        self.callback = callback if callback is None or type(callback) is str else callback_name(callback)
        self.meta = meta
        self.priority = priority
        self.options = request_options(fetching) if fetching else None

    @property
    def is_plain(self) -> bool:
        """Whether it is a GET without a body, so that the URL says everything."""
        return self.method == "GET" and not self.body


@dataclass
class Page:
    url: str
    body: bytes
    """Decoded from its content encodings; `html` has the text as UTF-8."""
    status: int = 200
    content_type: str = "text/html"
    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0
    html: bytes = b""
    input: Mapping[str, str] = field(default_factory=dict)
    """The columns of the row of the input list that led to this page; empty if there was none."""
    shared: Mapping[str, Any] = field(default_factory=dict)
    """What the spider's `on_start` gave to all callbacks."""
    session: str = ""
    """The session that the page was fetched in. Requests for its links stay in it, unless they name another."""
    failure: str | None = None
    """In an errors callback: why the request failed, such as `timeout` or `status 503`. Then `status` may be 0."""
    rendered: RenderedPage | None = None
    """What else a browser saw, if it loaded the page: then `html` is what the scripts made of it."""
    rejects: list[Reject] = field(default_factory=list)
    """Items that failed validation."""
    matches: dict[tuple[str, str], bool] = field(default_factory=dict)
    """(`each` or `follow`, selector) -> whether it matched anything on this page."""

    @cached_property
    def document(self) -> Document:
        return Document(self.html or self.body, self.url)

    @cached_property
    def reading(self) -> PageReading:
        return read(self.html or self.body)

    @property
    def text(self) -> str:
        """Visible text, with collapsed white space."""
        return self.reading.text()

    @property
    def title(self) -> str | None:
        return self.reading.title

    def parsed_head(self, agent: str) -> PageHead | None:
        """Its title and directives, but only if it has been parsed as HTML already; they are not worth parsing for."""
        document = self.__dict__.get("document")
        if document is not None and document.is_parsed:
            return read_head(document.root, agent=agent).head
        return None

    @cached_property
    def base_url(self) -> str:
        """The URL to which its links are relative."""
        # By tag, because a selector takes four times as long.
        nodes = self.document.root.parser.tags("base") if self.content_type in HTML_TYPES else ()
        base = next((node.attrs["href"] for node in nodes if "href" in node.attrs), None)
        try:
            return join(self.url, base) if base else self.url
        except ValueError:
            return self.url

    @cached_property
    def usual_decimal(self) -> str | None:
        """The decimal sign of the page's language. JSON has numbers for programs."""
        if self.content_type not in HTML_TYPES:
            return None
        return decimal_sign(declared_language(self.html or self.body, self.headers.get("content-language", "")))

    @cached_property
    def data(self) -> Any:
        """The body as JSON; raises BadJson."""
        return parsed_json(self.html or self.body)

    def calls(self, pattern: str = "*") -> list[PageCall]:
        """What scripts of the page asked for, by a pattern of URLs as in `include`; `call.data` is the JSON. Empty if
        no browser loaded the page."""
        matches = compiled(pattern, "calls")
        return [call for call in self.rendered.calls if matches(call.url)] if self.rendered is not None else []

    @property
    def playwright(self) -> Any:
        """The page in Playwright, if its request has `playwright=True`. Raises UsageError otherwise."""
        if self.rendered is None or self.rendered.playwright is None:
            raise UsageError("the page is not open in Playwright: request it with playwright=True")
        return self.rendered.playwright

    def css(self, selector: str) -> list[Node]:
        return self.document.css(selector)

    def xpath(self, selector: str) -> list[Node]:
        return self.document.xpath(selector)

    def json(self, path: str = "$") -> list[Any]:
        """The values of a JSON body at this path."""
        return pick_by_spelling(path).values(JsonData(self.data))

    def each(self, selector: str, cls: type[I]) -> Iterator[I]:
        """An item per matching element (CSS, or XPath from `/`) or JSON value (from `$`)."""
        picked = pick_by_spelling(selector)
        reader, base_url = item_reader_for(cls, self.usual_decimal), self.base_url
        if isinstance(picked.how, Css):
            root = self.document.root
            nodes = picked.how.nodes(root)
            self._note_match("each", selector, bool(nodes))
            items = reader.read_each(nodes, root, base_url, self._of_page(reader))
        else:
            places = list(picked.places(self._place(picked.kind)))
            self._note_match("each", selector, bool(places))
            of_page = self._of_page(reader)
            items = (reader.read(place, base_url, of_page) for place in places)
        for item in items:
            if isinstance(item, Reject):
                self.rejects.append(item)
            else:
                yield item  # type: ignore[misc]

    def item(self, cls: type[I]) -> I | None:
        """One item from the whole page; None if it failed validation. Then it is stored as a reject."""
        reader = item_reader_for(cls, self.usual_decimal)
        from_data = any(slot.pick.kind == "jsonpath" for slot in reader.slots)
        item = reader.read(self._place("jsonpath" if from_data else "css"), self.base_url, self._of_page(reader))
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
        **fetching: Unpack[RequestArguments],
    ) -> Iterator[Request]:
        """Requests for the links (href or src) of matching elements, or for the URLs that the selector returns."""
        callback = callback_name(to)
        check_trail(meta, priority)
        options = request_options(fetching) if fetching else None
        links = self._links(selector)
        self._note_match("follow", selector, bool(links))
        if self.html and self.html is not self.body:
            links = queries_in(charset(self.body, self.headers.get("content-type", ""))[0], links)
        for url in joined(self.base_url, links):
            request = Request(url, callback=callback)
            # Checked once for all of them.
            request.meta, request.priority, request.options = meta, priority, options
            yield request

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
        **fetching: Unpack[RequestArguments],
    ) -> Request:
        """A request of any kind; `form` and `json` make it a POST unless `method` is given."""
        if type(url) is not str:
            check_request(url, "GET", b"", "")
        body, content_type = _encoded(form, json)
        try:
            absolute = join(self.base_url, url)
        except ValueError:
            raise UsageError(f"the url of a request is {url!r:.200}, which is not a URL") from None
        return Request(
            absolute,
            ("POST" if body else "GET") if method is None else method,
            body,
            content_type,
            to,
            meta,
            priority,
            **fetching,
        )

    def _note_match(self, use: str, selector: str, found: bool) -> None:
        self.matches[use, selector] = found or self.matches.get((use, selector), False)

    def _of_page(self, reader: ItemReader) -> list[Any]:
        """The values of fields that are read from the page."""
        return [slot.value(self._place(slot.pick.kind), self.base_url) for slot in reader.page_slots]

    def _place(self, kind: str) -> Place:
        match kind:
            case "jsonpath":
                return JsonData(self.data)
            case "page":
                return JsonData(self.url)
            case "input":
                return JsonData(self.input)
        return self.document

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


def _encoded(form: Mapping[str, str] | None, data: Any) -> tuple[bytes, str]:
    if form is not None:
        return urlencode(form).encode(), FORM
    if data is not None:
        return json.dumps(data).encode(), JSON
    return b"", ""
