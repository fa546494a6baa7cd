"""A spider: a function that turns a page into items and requests, with its callbacks.

@spider("https://books.toscrape.com/", rate=2)
def books(page: Page):
    yield from page.each("article.product_pod", Book)
    yield from page.follow("h3 a", to=detail)

@books.callback
def detail(page: Page):
    yield page.item(Book)
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from shoal.errors import UsageError
from shoal.model.options import OPTIONS, SpiderOptions
from shoal.spiders.arguments import Given, argument_texts, bound, filled_urls, parameters_of, typed_arguments
from shoal.spiders.item import Item
from shoal.spiders.item_steps import ItemStep
from shoal.spiders.page import Page, Request
from shoal.urls.url_ranges import expand_ranges

if TYPE_CHECKING:
    from shoal.embedded.report import Report
    from shoal.spiders.rule_cost import PageCost

F = TypeVar("F", bound=Callable[..., Any])
VERSION_CHARS = 12
Found = Item | Mapping[str, Any] | Request | None


class Spider:
    """A start callback, further callbacks by name, start URLs, and the job's options."""

    def __init__(self, start: Callable[..., Any], urls: tuple[str, ...], name: str, options: SpiderOptions) -> None:
        self.name = name
        self.urls = tuple(one for url in urls for one in expand_ranges(url))
        self.options = options
        self.start = start
        # A request may go to the spider itself: `page.follow("a", to=books)`.
        self.__name__ = start.__name__
        self.callbacks: dict[str, Callable[..., Any]] = {"": start, start.__name__: start}
        self.hooks: dict[str, Callable[..., Any]] = {}
        """`on_start` and `on_finish`, if it has them."""
        self.steps: list[ItemStep] = []
        """What each item goes through before it is kept, in this order."""
        self.arguments: Given = {}
        """Those that are bound to its callbacks."""
        self.reference: str | None = None
        """Where it was loaded from, so that another process can load it."""
        self.rules: str | None = None
        """The rules that it was made of, if any."""
        self.costs: dict[str, PageCost] = {}
        """Callback -> cost of its selectors; known only for rules."""
        self.item_types: tuple[type[Item], ...] = ()
        """Known in advance only for rules; for a function, when it yields them."""

    @cached_property
    def version(self) -> str:
        """`__version__` of its module, or else the beginning of the SHA-256 of its file or rules."""
        module = inspect.getmodule(inspect.unwrap(self.start))
        declared = getattr(module, "__version__", None)
        if self.rules is None and isinstance(declared, str):
            return declared
        text = self.rules.encode() if self.rules is not None else _source_of(self.start)
        return hashlib.sha256(text).hexdigest()[:VERSION_CHARS]

    def __call__(self, page: Page) -> Any:
        return self.start(page)

    def callback(self, function: F) -> F:
        if function.__name__ in self.callbacks:
            raise UsageError(f"spider {self.name} has two callbacks {function.__name__!r}: rename one")
        self.callbacks[function.__name__] = function
        return function

    def step(self, function: F) -> F:
        """Runs the function on each item before it is kept, after the steps before it. It gets the item, or the item
        and its page. None keeps the item as it is now; what it returns or yields takes the item's place."""
        self.steps.append(ItemStep.of(function))
        return function

    def on_start(self, function: F) -> F:
        """Runs the function once per job, before its first request."""
        return self._hook("on_start", function)

    def on_finish(self, function: F) -> F:
        """Runs the function once per job, after its last request."""
        return self._hook("on_finish", function)

    def _hook(self, name: str, function: F) -> F:
        if name in self.hooks:
            raise UsageError(f"spider {self.name} has two functions for {name}: keep one")
        self.hooks[name] = function
        return function

    def named(self, name: str) -> Callable[..., Any]:
        if name not in self.callbacks:
            known = ", ".join(sorted(filter(None, self.callbacks)))
            raise UsageError(
                f"spider {self.name} has no callback {name!r}. It has: {known}. "
                f"To add one, write @{self.start.__name__}.callback above the function."
            )
        return self.callbacks[name]

    def with_arguments(self, given: Given, ignore_unknown: bool = False) -> Spider:
        """This spider with the arguments bound to its callbacks and start URLs. Raises UsageError."""
        parameters = parameters_of([*self.callbacks.values(), *self.hooks.values()])
        if not parameters and (ignore_unknown or not given):
            return self
        given = {**self.arguments, **given}
        values = typed_arguments(self.name, parameters, given, ignore_unknown)
        spider = copy(self)
        spider.arguments = given
        spider.callbacks = {name: bound(function, parameters, values) for name, function in self.callbacks.items()}
        spider.hooks = {name: bound(function, parameters, values) for name, function in self.hooks.items()}
        spider.start = spider.callbacks[""]
        spider.urls = filled_urls(self.urls, parameters, values)
        return spider

    def run(
        self,
        home: str | Path | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        resume: str | None = None,
        progress: bool | None = None,
        **options: Unpack[SpiderOptions],
    ) -> Report:
        """Crawls in this process until the job has ended; the report has figures and data. Also in a notebook.

        `resume` continues an interrupted job, by id or name, or one that reached a limit, if a higher limit is
        given. `progress` shows a line on stderr; None: in a notebook.
        """
        from shoal.embedded.python_api import RunOptions, run

        given = {**options, "argument": argument_texts(arguments or {})}
        return run(self, home, RunOptions(given, resume, progress))

    def stream(
        self,
        home: str | Path | None = None,
        *,
        arguments: Mapping[str, Any] | None = None,
        resume: str | None = None,
        progress: bool | None = None,
        **options: Unpack[SpiderOptions],
    ) -> Iterator[dict[str, Any]]:
        """Crawls, and yields each item once it is stored."""
        from shoal.embedded.python_api import RunOptions, stream

        given = {**options, "argument": argument_texts(arguments or {})}
        return stream(self, home, RunOptions(given, resume, progress))

    def test(
        self,
        page: str | Path | bytes,
        url: str = "https://example.com/",
        callback: str = "",
        arguments: Mapping[str, Any] | None = None,
    ) -> list[Found]:
        """Runs a callback and the steps on a saved page without any network, and returns what they yield."""
        from shoal.spiders.run_callback import collect, run_steps

        body = page if isinstance(page, bytes) else Path(page).read_bytes()
        spider = self.with_arguments(arguments or {})
        given = Page(url, body, html=body)
        return run_steps(spider.steps, collect(spider.named(callback), given), given).found


def spider(
    *urls: str, name: str | None = None, **options: Unpack[SpiderOptions]
) -> Callable[[Callable[..., Any]], Spider]:
    """Makes a spider of a function that takes a Page and yields items and requests."""
    if urls and callable(urls[0]):
        raise UsageError("write @spider(URL, ...), with the URLs to start from")
    for url in urls:
        if not isinstance(url, str):
            kind = type(url).__name__
            raise UsageError(
                f"@spider takes each URL as text, not a {kind}: write @spider(URL, URL), or @spider(*urls)"
            )

    def make(function: Callable[..., Any]) -> Spider:
        made = Spider(function, urls, name or function.__name__, options)
        made.__doc__ = function.__doc__
        return made

    unknown = [option for option in options if option not in OPTIONS or not OPTIONS[option].for_spiders]
    if unknown:
        named = " or ".join(sorted(unknown))
        raise UsageError(f"a spider has no option {named}: it takes the flags of `shoal crawl --help`, as in max_pages")
    return make


def _source_of(callback: Callable[..., Any]) -> bytes:
    """The file of the callback; its bytecode if it has none, as in a notebook."""
    code = getattr(inspect.unwrap(callback), "__code__", None)
    try:
        return Path(code.co_filename if code else "").read_bytes()
    except OSError:
        return code.co_code if code else b""


@lru_cache(1024)
def is_async(function: Callable[..., Any]) -> bool:
    return inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function)
