"""Translates expressions of a callback: selections, requests, items, and what a response knows of itself."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from shoal.spiders.from_scrapy.job_options import method_name
from shoal.spiders.from_scrapy.notes import Untranslatable
from shoal.spiders.from_scrapy.read_spider import last_name
from shoal.spiders.from_scrapy.selections import Selection, Value, selection_in, value_in

PAGE, NODE, TEXT, FAILURE = "page", "node", "text", "failure"
OF_RESPONSE = {
    "url": "page.url",
    "status": "page.status",
    "headers": "page.headers",
    "body": "page.body",
    "meta": "page.meta",
    "cb_kwargs": "page.meta",
    "text": "page.html.decode()",
}
REQUESTS = ("Request", "FormRequest", "JsonRequest", "follow")
_WHICH_FORM = {"formname", "formid", "formnumber", "formcss", "formxpath", "clickdata", "dont_click"}
_FORM_FIELD = "each.attr('name'): each.attr('value') or ''"
_OF_REQUEST = ("cb_kwargs", "meta", "priority", "dont_filter")
"""Attributes of a request that Scrapy's users change after it is made."""
_OF_SCRAPYS_META = frozenset(
    ("depth", "download_latency", "download_slot", "link_text", "proxy", "redirect_urls", "rule")
)
_AS_GIVEN = ("headers", "cookies", "priority", "method")
_DROPPED = {"dont_filter", "encoding"}


class Names:
    """What a callback knows: its variables, and the spider that it belongs to."""

    def __init__(self, rename: Callable[[str], str], first: str, own: set[str], items: set[str]) -> None:
        self.rename = rename
        """The name of a callback in the draft."""
        self.first = first
        """The callback of requests that name none, which is `parse` in Scrapy."""
        self.own = own
        """Methods of the spider."""
        self.items = items
        """Classes of items."""
        self.attributes: set[str] = set()
        """Of the class, which are constants of the module in the draft."""
        self.kinds: dict[str, str] = {}
        """Of variables: PAGE, NODE, TEXT or FAILURE."""
        self.arguments: set[str] = set()
        """Of the spider, which the callback asks for."""
        self.aliases: dict[str, ast.expr] = {}
        """Variables that are selections, as they are in the original."""
        self.missing: set[str] = set()
        """Variables whose values could not be translated."""
        self.needs: set[str] = set()
        """Imports, as lines."""
        self.current = first
        """The callback that is translated."""


class Translate(ast.NodeTransformer):
    """Raises Untranslatable."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def of(self, node: ast.expr) -> ast.expr:
        return cast(ast.expr, self.visit(node))

    def visit(self, node: ast.AST) -> ast.AST:
        plain: ast.AST = self.without_alias(node) if isinstance(node, ast.expr) else node
        if isinstance(plain, ast.expr):
            if (value := value_in(plain)) is not None and self.is_place(value.selection.base):
                return self.value(value)
            if (found := selection_in(plain)) is not None and self.is_place(found.base):
                return self.selection(found)
        result: ast.AST = super().visit(plain)
        return result

    def without_alias(self, node: ast.expr) -> ast.expr:
        """`books.css("a")` of a variable that is a selection: as a selection in the page."""
        match node:
            case ast.Call(func=ast.Attribute() as func):
                chain = ast.Attribute(self.without_alias(func.value), func.attr, ast.Load())
                return ast.copy_location(ast.Call(chain, node.args, node.keywords), node)
            case ast.Name(id) if id in self.names.aliases:
                return self.names.aliases[id]
        return node

    def is_place(self, base: ast.expr) -> bool:
        return isinstance(base, ast.Name) and self.names.kinds.get(base.id) in (PAGE, NODE)

    def value(self, value: Value) -> ast.expr:
        found = self._checked(value.selection)
        if found.pattern is not None:
            self.names.needs.add("import re")
            texts = f"for text in {self._texts(found)} for part in re.findall({found.pattern!r}, text)"
            made = f"[part {texts}]" if value.many else f"next((part {texts}), None)"
        elif value.many:
            made = self._texts(found)
        else:
            default = "None" if value.default is None else ast.unparse(self.of(value.default))
            made = f"next(({self._each(found)}), {default})"
        return _parsed(made)

    def _checked(self, found: Selection) -> Selection:
        if found.elements:
            found.check(found.base)
        if found.is_function:
            raise Untranslatable(found.base, f"{found.text} gives a text: read it with a field, {found.kind}(...)")
        return found

    def selection(self, found: Selection) -> ast.expr:
        self._checked(found)
        return _parsed(self._texts(found) if found.gives_text else self._elements(found))

    def _texts(self, found: Selection) -> str:
        return f"[{self._each(found)}]"

    def _each(self, found: Selection) -> str:
        if found.attribute:
            taken = f"each.attr({found.attribute!r})"
            return f"{taken} for each in {self._elements(found)} if {taken} is not None"
        return f"{'each.text' if found.gives_text else 'each.html'} for each in {self._elements(found)}"

    def _elements(self, found: Selection) -> str:
        assert isinstance(found.base, ast.Name)
        base = "page" if self.names.kinds[found.base.id] == PAGE else found.base.id
        if not found.elements:
            # `::text` alone is of the element itself.
            return f"[{base}]"
        return f"{base}.{found.kind}({found.elements!r})"

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.loop_variable(node.target, node.iter)
        return ast.comprehension(node.target, self.of(node.iter), [*map(self.of, node.ifs)], node.is_async)

    def loop_variable(self, target: ast.expr, iterated: ast.expr) -> None:
        """Notes what a variable of a loop is."""
        if not isinstance(target, ast.Name):
            return
        self.names.kinds.pop(target.id, None)
        self.names.aliases.pop(target.id, None)
        found, value = selection_in(self.without_alias(iterated)), value_in(self.without_alias(iterated))
        if found is not None and self.is_place(found.base):
            self.names.kinds[target.id] = TEXT if found.gives_text else NODE
        elif value is not None and value.many:
            self.names.kinds[target.id] = TEXT

    def _comprehension(self, node: Any) -> Any:
        # The loops first: they say what their variables are.
        node.generators = [self.visit_comprehension(one) for one in node.generators]
        for name in ("elt", "key", "value"):
            if hasattr(node, name):
                setattr(node, name, self.of(getattr(node, name)))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "self":
            raise Untranslatable(node, "the spider itself is used: Shoal's callbacks are functions")
        if isinstance(node.ctx, ast.Store):
            self.names.missing.discard(node.id)
        elif node.id in self.names.missing:
            raise Untranslatable(node, f"it uses {node.id}, which is not translated")
        if self.names.kinds.get(node.id) == FAILURE:
            raise Untranslatable(node, "a failure of Twisted: page.failure says why a request failed, page.url which")
        return ast.Name("page", node.ctx) if self.names.kinds.get(node.id) == PAGE else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return ast.copy_location(ast.Assign([self.of(node.target)], self.of(node.value)), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=ast.Attribute(value=ast.Name(id), attr="attrib"), slice=ast.Constant(str(name))):
                if self.names.kinds.get(id) == NODE:
                    return _parsed(f"{id}.attr({name!r})")
            case ast.Subscript(value=ast.Attribute(value=base, attr="meta"), slice=ast.Constant(str(name))):
                if name in _OF_SCRAPYS_META and self.is_page(base):
                    raise Untranslatable(node, f"response.meta[{name!r}] is set by Scrapy")
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        match node.value:
            case ast.Name("self"):
                return self._of_spider(node)
            case ast.Attribute(value=ast.Name(id), attr="request") if node.attr == "url" and id in self.names.kinds:
                return _parsed("page.url")
            case ast.Name() if node.attr in _OF_REQUEST and not self.is_page(node.value):
                raise Untranslatable(
                    node, f"a request gets its {node.attr} where it is made: page.request(url, meta={{...}})"
                )
            case ast.Name(id) if self.names.kinds.get(id) == PAGE:
                if node.attr not in OF_RESPONSE:
                    raise Untranslatable(node, f"response.{node.attr} has no equivalent")
                return _parsed(OF_RESPONSE[node.attr])
        return ast.Attribute(self.of(node.value), node.attr, node.ctx)

    def _of_spider(self, node: ast.Attribute) -> ast.expr:
        if node.attr in self.names.own:
            return ast.Name(self.names.rename(node.attr), node.ctx)
        if node.attr in self.names.attributes:
            return ast.Name(node.attr, node.ctx)
        if node.attr in ("settings", "crawler", "logger", "custom_settings") or not isinstance(node.ctx, ast.Load):
            raise Untranslatable(node, f"self.{node.attr} has no equivalent")
        self.names.arguments.add(node.attr)
        return ast.Name(node.attr, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = last_name(node.func)
        match node.func:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id), attr="attrib"), attr="get") if node.args:
                if self.names.kinds.get(id) == NODE and len(node.args) == 1:
                    return ast.Call(_parsed(f"{id}.attr"), [self.of(node.args[0])], [])
            case ast.Attribute(value=ast.Name(id), attr=method) if self.names.kinds.get(id) is not None:
                made = self._of_variable(node, self.names.kinds[id], method)
                if made is not None:
                    return made
            case ast.Name() | ast.Attribute() if name in REQUESTS[:-1] and _is_of_scrapy(node.func):
                return self.request(node, name)
            case ast.Attribute(value=ast.Name("scrapy"), attr="Item") if not node.args and not node.keywords:
                return ast.Dict([], [])
            case ast.Attribute(attr="from_response"):
                return self.form(node)
            case ast.Name(id) if id in self.names.items and not node.args:
                return ast.Call(ast.Name("dict", ast.Load()), [], [self._keyword(one) for one in node.keywords])
            case ast.Name("getattr") if len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                if isinstance(node.args[0], ast.Name) and node.args[0].id == "self":
                    return self._of_spider(ast.Attribute(node.args[0], str(node.args[1].value), ast.Load()))
            case ast.Name("ItemLoader"):
                raise Untranslatable(node, "an item loader: write its fields as an Item, whose types convert the texts")
        return ast.Call(self.of(node.func), [self.of(one) for one in node.args], [*map(self._keyword, node.keywords)])

    def _keyword(self, one: ast.keyword) -> ast.keyword:
        return ast.keyword(one.arg, self.of(one.value))

    def _of_variable(self, node: ast.Call, kind: str, method: str) -> ast.expr | None:
        """A call of a method of a page, an element or a text."""
        base = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        match kind, method:
            case "page", "follow":
                return self.request(node, method)
            case "page", "follow_all":
                return self.follow_all(node)
            case "page", "urljoin":
                self.names.needs.add("from urllib.parse import urljoin")
                made = ast.Call(ast.Name("urljoin", ast.Load()), [_parsed("page.base_url"), self.of(node.args[0])], [])
                return made
            case "page", "json":
                return _parsed("page.data")
            case "page", _:
                raise Untranslatable(node, f"response.{method}() has no equivalent")
            case "text", ("get" | "extract"):
                return base
            case "node", ("get" | "extract"):
                return ast.Attribute(base, "html", ast.Load())
        return None

    def request(self, node: ast.Call, name: str) -> ast.expr:
        """Of one URL, by `page.request`."""
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        names = ("url", "callback", "method", "headers", "body", "cookies", "meta")
        given |= dict(zip(names, node.args, strict=False))
        if "url" not in given:
            raise Untranslatable(node, "a request without a URL that can be seen")
        keywords = self.fetching(node, given, {"url", "formdata", "data"})
        if "formdata" in given:
            keywords.append(ast.keyword("form", self.of(given["formdata"])))
        if "data" in given:
            keywords.append(ast.keyword("json", self.of(given["data"])))
        return ast.Call(_parsed("page.request"), [self._url(given["url"])], keywords)

    def form(self, node: ast.Call) -> ast.expr:
        """The first form of the page, with its own fields."""
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        if len(node.args) != 1 or not self.is_page(node.args[0]) or given.keys() & _WHICH_FORM:
            raise Untranslatable(node, "a form of the page: send its fields with page.request(url, form={...})")
        sent = self.of(given.pop("formdata", ast.Dict([], [])))
        own = _parsed(f"{{{_FORM_FIELD} for each in page.css('form')[0].css('input[name]')}}")
        keywords = self.fetching(node, given, set())
        keywords.append(ast.keyword("form", ast.Dict([None, None], [own, sent])))
        action = _parsed("page.css('form')[0].attr('action') or page.url")
        return ast.Call(_parsed("page.request"), [action], keywords)

    def is_page(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self.names.kinds.get(node.id) == PAGE

    def _url(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id), attr="urljoin"), args=[part]):
                if self.names.kinds.get(id) == PAGE:
                    # page.request does so.
                    return self._url(part)
            case ast.Name(id) if self.names.kinds.get(id) == NODE:
                return _parsed(f'{id}.attr("href")')
        return self.of(node)

    def follow_all(self, node: ast.Call) -> ast.expr:
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        given |= dict(zip(("urls", "callback"), node.args, strict=False))
        if (selector := self.followed(given)) is None:
            raise Untranslatable(node, "follow_all of URLs that no selector gives: yield page.request(url) for each")
        return self.follow(node, selector, given)

    def followed(self, given: dict[str, ast.expr]) -> str | None:
        for kind in ("css", "xpath"):
            match given.get(kind):
                case ast.Constant(str(text)):
                    return text
        if "urls" not in given:
            return None
        urls = self.without_alias(given["urls"])
        found = value.selection if (value := value_in(urls)) is not None and value.many else selection_in(urls)
        if found is not None and isinstance(found.base, ast.Name) and self.names.kinds.get(found.base.id) == PAGE:
            return found.text
        return None

    def follow(self, node: ast.AST, selector: str, given: dict[str, ast.expr]) -> ast.expr:
        Selection(ast.Name("page"), "xpath" if selector.startswith(("/", "(")) else "css", selector).check(node)
        keywords = self.fetching(node, given, {"css", "xpath", "urls", "url"})
        return ast.Call(_parsed("page.follow"), [ast.Constant(selector)], keywords)

    def fetching(self, node: ast.AST, given: dict[str, ast.expr], known: set[str]) -> list[ast.keyword]:
        """The arguments of a request besides its URL."""
        unknown = given.keys() - known - {*_AS_GIVEN, *_DROPPED, "callback", "errback", "meta", "cb_kwargs"}
        if unknown:
            raise Untranslatable(node, f"a request with {', '.join(sorted(unknown))}=")
        keywords = []
        callback = method_name(given["callback"]) if "callback" in given else "parse"
        if callback is None:
            raise Untranslatable(node, "the callback of this request is not a method of the spider")
        if self.names.rename(callback) != self.names.current:
            keywords.append(ast.keyword("to", ast.Name(self.names.rename(callback), ast.Load())))
        if "errback" in given and (errors := method_name(given["errback"])) is not None:
            keywords.append(ast.keyword("errors", ast.Name(self.names.rename(errors), ast.Load())))
        parts = [self.of(given[name]) for name in ("meta", "cb_kwargs") if name in given]
        if parts:
            both = parts[0] if len(parts) == 1 else ast.Dict([None, None], parts)
            keywords.append(ast.keyword("meta", both))
        return keywords + [ast.keyword(name, self.of(given[name])) for name in _AS_GIVEN if name in given]


def _is_of_scrapy(node: ast.expr) -> bool:
    """`Request`, `scrapy.Request` and `scrapy.http.Request`."""
    return isinstance(node, ast.Name) or ast.unparse(node).split(".")[0] in ("scrapy", "http")


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
