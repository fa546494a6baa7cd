"""A crawl as it is ordered from elsewhere: lists and rules are read here and travel as data, a spider by its name."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from shoal.cli.asked import given_options, listed
from shoal.errors import UsageError
from shoal.model import Asker, Input, ScopeKind
from shoal.spiders.lists import SPELT_CHARS
from shoal.spiders.naming import SPIDER_MODULE, names_spider, spider_among
from shoal.spiders.sources import AUTHORITY_WITH_USER, Passed, Sources, read_sources
from shoal.spiders.wish import Wish
from shoal.urls import origin_of


@dataclass(frozen=True, slots=True)
class Order:
    words: list[str]
    """URLs and lists; none: what the spider or the rules begin with, alone."""
    sources: Sources | None
    """What the words stand for, if there are any."""
    rules: dict[str, Any] | None
    spider: str | None
    options: dict[str, Any]
    """Those that were given, by the names of the flags."""

    @property
    def listed(self) -> int | None:
        return None if self.sources is None else listed(self.sources, self.options.get("scope"))

    def urls(self) -> list[str]:
        """Those that can be fetched, all held, as a schedule holds them."""
        sources = self.sources
        return [] if sources is None else [url_of(one, sources) for one in sources.inputs if one.target is not None]


def url_of(one: Input, sources: Sources) -> str:
    """As it was spelt, unless that is cut or has lost its password."""
    assert one.target is not None
    if len(one.spelt) < SPELT_CHARS and not AUTHORITY_WITH_USER.match(one.spelt):
        return one.spelt
    url = one.target.url
    user, colon, password = sources.credentials.get(origin_of(url), "").partition(":")
    return url.replace("://", f"://{quote(user, safe='')}:{quote(password, safe='')}@", 1) if colon else url


def read_order(
    source: tuple[str, ...], column: str | None, options: dict[str, Any], passed: Passed = lambda stream: stream
) -> Order:
    """Lists are read through `passed`. Raises UsageError for all that can be wrong before that."""
    named = [word for word in source if SPIDER_MODULE.fullmatch(word) and names_spider(word)]
    # One that is named by its import path is loaded where it is to run, and need not be here.
    spider, words = spider_among([word for word in source if word not in named])
    if len(named) + (spider is not None) > 1:
        raise UsageError(f"{named[-1]!r} is a second spider: a job has one")
    if spider is not None and spider.rules is None:
        raise UsageError("a spider in a file stays here: name it package.module:name, of a module that the fleet has")
    given: dict[str, Any] = json.loads(json.dumps(given_options(options)))
    sources = None
    if words:
        wish = Wish.of(given, spider, False, Asker.ADMIN)
        sources = read_sources(words, wish.params, wish.group, column, sys.stdin.buffer, passed)
        if sources.listed and not wish.values["scope"]:
            given["scope"] = ScopeKind.LISTED.value
    rules = json.loads(spider.rules) if spider is not None and spider.rules is not None else None
    return Order(words, sources, rules, named[0] if named else None, given)
