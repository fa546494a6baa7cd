"""What a user writes: a function that turns a page into items and requests, and the callbacks beside it.

@spider("https://books.toscrape.com/", rate=2)
def books(page: Page):
    yield from page.each("article.product_pod", Book)
    yield from page.follow("h3 a", to=detail)

@books.callback
def detail(page: Page):
    yield page.item(Book)
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from shoal.errors import UsageError
from shoal.spiders.item import Item
from shoal.spiders.page import Page, Request

if TYPE_CHECKING:
    from shoal.embedded.crawl import Report
    from shoal.spiders.rule_cost import PageCost

F = TypeVar("F", bound=Callable[..., Any])
Found = Item | Mapping[str, Any] | Request | None


class Options(TypedDict, total=False):
    """Of a spider's job; a flag on the command line wins over them. Names are those of the flags."""

    rate: float
    per_host: int
    group: str
    scope: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    sitemaps: bool
    max_pages: int
    max_depth: int
    max_pages_per_host: int
    max_seconds: float
    retries: int
    header: tuple[str, ...]
    cookie: tuple[str, ...]
    proxy: tuple[str, ...]
    keep_params: tuple[str, ...]
    drop_params: tuple[str, ...]
    allow_trap: tuple[str, ...]
    ignore_robots: bool
    allow_private: bool
    max_failure_rate: float
    max_null_share: float
    max_change: float


class Spider:
    """A start callback, further callbacks by name, where to start, and the job's options."""

    def __init__(self, start: Callable[..., Any], urls: tuple[str, ...], name: str, options: Options) -> None:
        self.name = name
        self.urls = urls
        self.options = options
        self.start = start
        self.callbacks: dict[str, Callable[..., Any]] = {"": start, start.__name__: start}
        self.reference: str | None = None
        """Where it was loaded from, so that it can be loaded again."""
        self.rules: str | None = None
        """The rules it was made of, if it was."""
        self.costs: dict[str, PageCost] = {}
        """By callback, what its selectors may cost; known only for rules."""
        self.item_types: tuple[type[Item], ...] = ()
        """Known beforehand only for rules; a function's items are known when it yields them."""

    def __call__(self, page: Page) -> Any:
        return self.start(page)

    def callback(self, function: F) -> F:
        if function.__name__ in self.callbacks:
            raise UsageError(f"spider {self.name} has two callbacks {function.__name__!r}: rename one")
        self.callbacks[function.__name__] = function
        return function

    def named(self, name: str) -> Callable[..., Any]:
        if name not in self.callbacks:
            known = ", ".join(sorted(filter(None, self.callbacks)))
            raise UsageError(f"spider {self.name} has no callback {name!r}; it has {known}: decorate it with @callback")
        return self.callbacks[name]

    def run(self, home: str | Path | None = None, **options: Unpack[Options]) -> Report:
        """Crawls here and now, until it is done; the report has figures, errors and quality."""
        from shoal.embedded.library import run

        return run(self, home, options)

    def stream(self, home: str | Path | None = None, **options: Unpack[Options]) -> Iterator[dict[str, Any]]:
        """Crawls, and gives each item as it is stored."""
        from shoal.embedded.library import stream

        return stream(self, home, options)

    def test(self, page: str | Path | bytes, url: str = "https://example.com/", callback: str = "") -> list[Found]:
        """What a callback yields on a saved page, without any network."""
        from shoal.spiders.running import collect

        body = page if isinstance(page, bytes) else Path(page).read_bytes()
        return collect(self.named(callback), Page(url, body, html=body))


def spider(*urls: str, name: str | None = None, **options: Unpack[Options]) -> Callable[[Callable[..., Any]], Spider]:
    """Makes a spider of a function that takes a Page and yields items and requests."""
    if urls and callable(urls[0]):
        raise UsageError("write @spider(URL, ...), with the URLs to start from")

    def make(function: Callable[..., Any]) -> Spider:
        made = Spider(function, urls, name or function.__name__, options)
        made.__doc__ = function.__doc__
        return made

    unknown = set(options) - set(typing.get_type_hints(Options))
    if unknown:
        named = " or ".join(sorted(unknown))
        raise UsageError(f"a spider has no option {named}: it takes the flags of `shoal crawl --help`, as in max_pages")
    return make


@lru_cache(1024)
def is_async(function: Callable[..., Any]) -> bool:
    return inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function)
