"""A wiki: a few articles among many more pages that show them once more, as wikis and version control have them.

Editing, histories, old versions and special pages ask not to be indexed. The print view names its article as the
canonical page. Lists can be sorted in several ways. Some articles are linked only from an index that is noindex itself.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import parse_qs, unquote

from shoal.practice.expected_results import ExpectedResults
from shoal.practice.request import PLAIN, Answer, Visit, not_found
from shoal.practice.vocabulary import LANGUAGES

ARTICLE = "/wiki/Article_"
ALL_PAGES = "/wiki/Special:AllPages"
LINKS_HERE = "/wiki/Special:WhatLinksHere/"
SCRIPT = "/w/index.php"
LIST = "/list"
SORTS = ("name", "date", "size", "author", "edits")
VERSIONS = 6
"""Old versions that the history of an article links to."""
_PER_INDEX = 4
_WORDS = [word for language in LANGUAGES for word in (*language.adjectives, *language.nouns)]
_NOINDEX = '<meta name="robots" content="noindex,nofollow">'
_NOINDEX_FOLLOW = '<meta name="robots" content="noindex,follow">'


@dataclass(frozen=True)
class Wiki:
    seed: int = 1
    articles: int = 120
    address: str = "127.0.0.1"

    @cached_property
    def addresses(self) -> tuple[str, ...]:
        return (self.address,)

    def truth(self) -> dict[str, ExpectedResults]:
        """The pages with content of their own. A crawler may fetch others, too."""
        paths = ["/", LIST, *(f"{ARTICLE}{number}" for number in range(self.articles))]
        return {self.address: ExpectedResults(pages=dict.fromkeys(paths, 200))}

    def answer(self, visit: Visit) -> Answer:
        path, query = unquote(visit.path), parse_qs(visit.query)
        if path == "/robots.txt":
            return Answer(200, b"", PLAIN)
        if path == "/":
            return _page("Main page", [f"{ARTICLE}0", LIST, f"{ALL_PAGES}?from=0"])
        if path == LIST:
            return self._list(query.get("sort", ["name"])[0], query.get("order", ["asc"])[0])
        if path == ALL_PAGES:
            return self._index(_number(query.get("from", [""])[0]))
        if path.startswith(LINKS_HERE):
            return _page("What links here", head=_NOINDEX)
        if path.startswith(ARTICLE):
            return self._article(visit, _number(path.removeprefix(ARTICLE)), "printable" in query)
        if path == SCRIPT:
            return self._view(query)
        return not_found(visit)

    def _is_orphan(self, number: int) -> bool:
        """No other article links to it."""
        return number % 4 == 3

    def _article(self, visit: Visit, number: int | None, is_print: bool) -> Answer:
        if number is None or number >= self.articles:
            return not_found(visit)
        chance = random.Random(f"{self.seed} {number}")
        linked = [number + 1, number + 2, *(chance.randrange(self.articles) for _ in range(4))]
        links = [f"{ARTICLE}{other}" for other in linked if other < self.articles and not self._is_orphan(other)]
        title = f"{SCRIPT}?title=Article_{number}"
        tools = [f"{title}&action={action}" for action in ("edit", "history", "info")]
        tools += [f"{LINKS_HERE}Article_{number}", f"{ARTICLE}{number}?printable=yes"]
        tools += [f"{title}&oldid={number * 100 + version}" for version in range(VERSIONS)]
        text = " ".join(chance.choices(_WORDS, k=80))
        head = f'<link rel="canonical" href="{ARTICLE}{number}">'
        return _page(f"Article {number}", [] if is_print else [*links, *tools], head, text)

    def _view(self, query: dict[str, list[str]]) -> Answer:
        """A form, a history or an old version of an article."""
        title = query.get("title", [""])[0]
        shown = query.get("action", query.get("oldid", [""]))[0]
        return _page(f"{title} {shown}", head=_NOINDEX)

    def _index(self, start: int | None) -> Answer:
        if start is None:
            return _page("All pages", head=_NOINDEX_FOLLOW)
        end = min(self.articles, start + _PER_INDEX)
        links = [f"{ARTICLE}{number}" for number in range(start, end)]
        links += [f"{ALL_PAGES}?from={end}"] if end < self.articles else []
        return _page("All pages", links, _NOINDEX_FOLLOW)

    def _list(self, sort: str, order: str) -> Answer:
        """The same rows, whatever their order."""
        rows = [f"<tr><td>{word}</td></tr>" for word in sorted(_WORDS, key=lambda word: f"{sort}{word}"[::-1])]
        table = "".join(rows if order == "asc" else reversed(rows))
        return _page("List", [f"{LIST}?sort={by}&order={way}" for by in SORTS for way in ("asc", "desc")], text=table)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def _page(title: str, links: list[str] | None = None, head: str = "", text: str = "") -> Answer:
    anchors = "".join(f'<li><a href="{link.replace("&", "&amp;")}">link</a>' for link in links or [])
    html = f"<!doctype html><title>{title}</title>{head}<h1>{title}</h1><div>{text}</div><ul>{anchors}</ul>"
    return Answer(200, html.encode())
