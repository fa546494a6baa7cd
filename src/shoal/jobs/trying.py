"""Selectors, rules and formats tried on one page, for commands at a terminal: bounded, and ended by Ctrl-C at once.

What may take long is done by a reader process. A spider is the user's own code and runs here.
"""

from __future__ import annotations

from typing import Any

from shoal.engine.aside import Unread, asked_once
from shoal.engine.reading import Ask
from shoal.engine.rule_reading import PageAsk, rules_question
from shoal.engine.rule_trial import trial_of
from shoal.errors import ShoalError
from shoal.extract.document import is_small
from shoal.extract.selector_cost import growth_of, is_deeper
from shoal.spiders.page import Page
from shoal.spiders.picks import pick
from shoal.spiders.rule_cost import CHEAP_S, DEPTHS
from shoal.spiders.spider import Spider
from shoal.spiders.trial import Trial, try_out


class NotRead(ShoalError):
    """The page could not be read, or not in time."""

    exit_code = 3


def tried(spider: Spider, callback: str, page: Page) -> Trial:
    """As `try_out`."""
    if spider.rules is None:
        return try_out(spider, callback, page)
    try:
        return trial_of(asked_once(rules_question(spider, callback, page, "trial"), page.body))
    except Unread as error:
        return Trial(page.url, spider.named(callback).__name__, failure=str(error))


def selected(kind: str, selector: str, page: Page) -> list[Any]:
    """The values that a CSS selector or an XPath gives. Raises BadSelector and NotRead."""
    picked = pick(kind, selector)
    if _is_cheap(kind, selector, page):
        return picked.values(page.document)
    question = {"do": "select", "kind": kind, "selector": selector, "page": PageAsk.of(page)}
    values: list[Any] = _asked(question, page)["values"]
    return values


def markdown_of(page: Page) -> str | None:
    """None if its extra is not installed, or the page is none that can be shown so."""
    how = Ask(page.base_url, page.headers.get("content-type", "text/html"), "", "", False, True, ("markdown",))
    _, value, _ = _asked({"do": "formats", "how": how}, page)["format"]
    return None if value is None else str(value)


def _is_cheap(kind: str, selector: str, page: Page) -> bool:
    body, depth = page.html or page.body, DEPTHS[0]
    seconds = growth_of(kind, selector).seconds(body.count(b"<"), depth)
    return is_small(body) and seconds <= CHEAP_S and not is_deeper(page.document.root, depth)


def _asked(question: dict[str, Any], page: Page) -> dict[str, Any]:
    try:
        return asked_once(question, page.body)
    except Unread as error:
        raise NotRead(f"the page {page.url} was not read: {error}") from error
