"""Puts a draft together: imports, what the callbacks use of the module, classes of items, and the callbacks."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shoal.spiders.from_scrapy.callbacks import INDENT, CallbackWriter, ItemClass
from shoal.spiders.from_scrapy.definitions import OF_SHOAL, copied_definitions, loaded_names, without_annotations
from shoal.spiders.from_scrapy.expressions import FAILURE, PAGE, Names
from shoal.spiders.from_scrapy.job_options import called_back, link_rules, method_name, options_of, start_urls
from shoal.spiders.from_scrapy.link_rules import rules_code
from shoal.spiders.from_scrapy.notes import Note
from shoal.spiders.from_scrapy.read_spider import START_METHODS, Method, ScrapySpider
from shoal.spiders.spider_template import spider_name

_OF_SCRAPY = ("__init__", "from_crawler", "update_settings", *START_METHODS)
_NOT_CALLBACKS = ("closed", "spider_closed", "spider_opened")
_KNOWN_ATTRIBUTES = frozenset(
    (
        *("name", "start_urls", "allowed_domains", "custom_settings", "rules", "sitemap_urls", "sitemap_rules"),
        *("sitemap_follow", "sitemap_alternate_links", "download_delay", "logger", "handle_httpstatus_list"),
    )
)
_BASES = ("Spider", "CrawlSpider", "SitemapSpider", "RedisSpider", "RedisCrawlSpider")
_TAKEN = OF_SHOAL


@dataclass(frozen=True)
class Draft:
    spider: str
    start: tuple[str, ...]
    text: str
    notes: tuple[Note, ...]


def draft(spider: ScrapySpider, source: str, filename: str, flags: Sequence[str] = ()) -> Draft:
    """`flags`: options of the job that are on."""
    return _Writer(spider, source, filename).write(flags)


class _Writer:
    def __init__(self, spider: ScrapySpider, source: str, filename: str) -> None:
        self._spider = spider
        self._source = source.splitlines()
        self._filename = filename
        self._classes: list[ItemClass] = []
        self._needs: set[str] = set()
        self._urls, self._first = start_urls(spider)
        name = spider_name(spider.name)
        is_taken = name in spider.methods.keys() - {self._first} or hasattr(builtins, name)
        self._function = f"{name}_spider" if is_taken else name
        self._called = {name for node in ast.walk(spider.node) for name in called_back(node)}
        self._items = {node.name for node in spider.module.body if isinstance(node, ast.ClassDef)} | _imported(spider)

    def write(self, flags: Sequence[str]) -> Draft:
        spider = self._spider
        options = options_of(spider, self._urls) | dict.fromkeys(flags, True)
        if spider.kind not in _BASES:
            spider.note(spider.node, f"the base class {spider.kind} is not Scrapy's: what it does is not in this file")
        callbacks = [self._start(options), *self._further()]
        for name in sorted(_NOT_CALLBACKS & spider.methods.keys()):
            spider.note(spider.methods[name], f"{name}() has no equivalent here: write @{self._function}.on_finish")
        if (statuses := spider.attributes.get("handle_httpstatus_list")) is not None:
            spider.note(
                statuses, "handle_httpstatus_list: give statuses= to page.request, see docs/reference/python.md"
            )
        parts = [*(one.code for one in self._classes), *callbacks]
        copied = copied_definitions(spider, parts, self._needs)
        text = "\n\n\n".join([self._head(parts), *copied, *parts]) + "\n"
        return Draft(self._function, tuple(self._urls), text, tuple(sorted(set(spider.notes))))

    def _head(self, parts: Sequence[str]) -> str:
        code = "\n".join(parts)
        used = [name for name in ("Item", "Page", "css", "spider", "xpath") if _mentions(code, name)]
        lines = [f'"""Drafted from {self._filename} by `shoal new --from-scrapy`."""', ""]
        lines += [*sorted(self._needs, key=lambda line: (line.startswith("from"), line)), ""] if self._needs else []
        lines.append(f"from shoal import {', '.join(used)}")
        return "\n".join(lines)

    def _start(self, options: dict[str, object]) -> str:
        given = [*map(repr, self._urls), *(f"{name}={value!r}" for name, value in options.items())]
        if spider_name(self._spider.name) != self._spider.name or self._function != self._spider.name:
            given.append(f"name={self._spider.name!r}")
        decorator = f"@spider({', '.join(given)})"
        if self._spider.kind in ("CrawlSpider", "SitemapSpider") and self._first not in self._spider.methods:
            return f"{decorator}\n{self._made_of_rules()}"
        if (method := self._spider.methods.get(self._first)) is None:
            self._spider.note(
                self._spider.node, f"there is no method {self._first}: write what happens to the first pages"
            )
            return f"{decorator}\ndef {self._function}(page: Page):\n{INDENT}return None"
        return f"{decorator}\n{self._callback(method)}"

    def _made_of_rules(self) -> str:
        lines, needs = rules_code(self._spider, self._rename, self._source)
        self._needs |= needs
        return "\n".join([f"def {self._function}(page: Page):", *lines])

    def _further(self) -> Iterator[str]:
        """The other methods, as callbacks or as plain functions."""
        follows = self._followed_callbacks()
        for name, method in self._spider.methods.items():
            if name in (self._first, *_OF_SCRAPY, *_NOT_CALLBACKS):
                continue
            code = self._callback(_yielding(method) if name in follows else method)
            if name in follows:
                code += f"\n{INDENT}yield from {self._function}.start(page)"
            yield f"@{self._function}.callback\n{code}" if self._is_callback(method) else code

    def _followed_callbacks(self) -> set[str]:
        """Callbacks of rules with `follow=True`: the rules hold for their pages too."""
        found = set()
        for rule in link_rules(self._spider) if self._spider.kind == "CrawlSpider" else ():
            given = {one.arg: one.value for one in rule.keywords}
            match given.get("follow"):
                case ast.Constant(value=True):
                    if (name := method_name(given.get("callback"))) is not None:
                        found.add(name)
        return found

    def _is_callback(self, method: Method) -> bool:
        first = [one.arg for one in method.args.args[1:2]]
        return method.name in self._called or first in (["response"], ["failure"])

    def _rename(self, name: str) -> str:
        if name == self._first:
            return self._function
        return f"{name}_" if name in _TAKEN or name == self._function or hasattr(builtins, name) else name

    def _callback(self, method: Method) -> str:
        names = Names(self._rename, self._first, set(self._spider.methods), self._items)
        names.current = self._rename(method.name)
        names.attributes = self._spider.attributes.keys() - _KNOWN_ATTRIBUTES - self._arguments().keys()
        is_callback = method.name == self._first or self._is_callback(method)
        first, *more = method.args.args[1:] or [ast.arg("response")]
        if is_callback:
            names.kinds[first.arg] = FAILURE if first.arg == "failure" else PAGE
        elif "response" in (one.arg for one in method.args.args):
            names.kinds["response"] = PAGE
        writer = CallbackWriter(names, self._source, self._classes, self._spider.notes)
        # The page is called `page` in the draft.
        is_taken = is_callback and first.arg != "page"
        body = writer.body([_renamed(one, "page", "page_") for one in method.body] if is_taken else method.body, INDENT)
        self._needs |= names.needs
        asynchronous = "async " if isinstance(method, ast.AsyncFunctionDef) else ""
        if not is_callback:
            return "\n".join([f"{asynchronous}def {names.current}({_parameters(method)}):", *body])
        arguments = [self._parameter(name) for name in sorted(names.arguments)]
        head = f"{asynchronous}def {names.current}({', '.join(['page: Page', *arguments])}):"
        return "\n".join([head, *self._from_meta(method, more), *body])

    def _from_meta(self, method: Method, more: Sequence[ast.arg]) -> Iterator[str]:
        """What Scrapy gives as keywords (`cb_kwargs`)."""
        defaults = method.args.defaults[-len(more) :] if more and method.args.defaults else []
        missing = len(more) - len(defaults)
        for place, one in enumerate(more):
            if place < missing:
                yield f"{INDENT}{one.arg} = page.meta[{one.arg!r}]"
            else:
                yield f"{INDENT}{one.arg} = page.meta.get({one.arg!r}, {ast.unparse(defaults[place - missing])})"

    def _arguments(self) -> dict[str, ast.expr | None]:
        """Of the spider's constructor, with their defaults."""
        method = self._spider.methods.get("__init__")
        if method is None:
            return {}
        given = method.args.args[1:]
        defaults: list[ast.expr | None] = [None] * (len(given) - len(method.args.defaults))
        return dict(zip([one.arg for one in given], [*defaults, *method.args.defaults], strict=True))

    def _parameter(self, name: str) -> str:
        default = self._arguments().get(name, ast.Constant(None))
        return f"{name}: str" if default is None else f"{name}: str | None = {ast.unparse(default)}"


def _renamed(statement: ast.stmt, name: str, new: str) -> ast.stmt:
    """With another name for a variable."""
    made = copy.deepcopy(statement)
    for node in ast.walk(made):
        if isinstance(node, ast.Name) and node.id == name:
            node.id = new
    return made


def _parameters(method: Method) -> str:
    """Of a function that is no callback. What it gets as a response is a page."""
    given = copy.deepcopy(method.args)
    if given.args and given.args[0].arg in ("self", "cls"):
        del given.args[0]
    for one in given.args:
        one.arg = "page" if one.arg == "response" else one.arg
    return without_annotations(given)


def _yielding(method: Method) -> Method:
    """A callback that may yield more at its end: what it returned there is yielded."""
    match method.body[-1]:
        case ast.Return(value=value) as last if value is not None:
            made = copy.copy(method)
            made.body = [*method.body[:-1], ast.copy_location(ast.Expr(ast.Yield(value)), last)]
            return made
    return method


def _imported(spider: ScrapySpider) -> set[str]:
    """Classes of items of the project, by their names."""
    found = set()
    for node in spider.module.body:
        if isinstance(node, ast.ImportFrom):
            names = {alias.asname or alias.name for alias in node.names}
            of_items = (node.module or "").rpartition(".")[2] == "items"
            found |= {name for name in names if name.endswith("Item") or (of_items and name[:1].isupper())}
    return found


def _mentions(code: str, name: str) -> bool:
    return name in loaded_names(code)
