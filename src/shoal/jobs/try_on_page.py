"""Tries selectors, rules and formats on one page, for commands at a terminal: with limits, and Ctrl-C ends it at once.

A reader process does what may take long. A spider is the user's own code and runs in this process.
"""

from __future__ import annotations

from typing import Any

from shoal.engine.readers.reader_client import ReadFailed, ask_once
from shoal.engine.reading.parse_page import ParseRequest
from shoal.engine.reading.read_by_rules import RulesRequest, rules_question, trial_of
from shoal.errors import ShoalError
from shoal.extract.document import is_small
from shoal.extract.selector_cost import growth_of, is_deeper
from shoal.spiders.callback_trial import Trial, run_trial
from shoal.spiders.field_selectors import pick
from shoal.spiders.page import Page
from shoal.spiders.rule_cost import CHEAP_S, DEPTHS
from shoal.spiders.spider import Spider


class NotRead(ShoalError):
    """The page could not be read, or not in time."""

    exit_code = 3


def try_on_page(spider: Spider, callback: str, page: Page) -> Trial:
    """Like `run_trial`."""
    if spider.rules is None:
        return run_trial(spider, callback, page)
    try:
        return trial_of(ask_once(rules_question(spider, callback, page, "trial"), page.body))
    except ReadFailed as error:
        return Trial(page.url, spider.named(callback).__name__, failure=str(error))


def select_values(kind: str, selector: str, page: Page) -> list[Any]:
    """The values of a CSS selector or an XPath. Raises BadSelector and NotRead."""
    picked = pick(kind, selector)
    if _is_cheap(kind, selector, page):
        return picked.values(page.document)
    question = {"do": "select", "kind": kind, "selector": selector, "page": RulesRequest.of(page)}
    values: list[Any] = _ask_reader(question, page)["values"]
    return values


def markdown_of(page: Page) -> str | None:
    """None if the extra is not installed, or the page cannot be converted."""
    how = ParseRequest(
        page.base_url, page.headers.get("content-type", "text/html"), "", "", False, False, True, ("markdown",)
    )
    _, value, _ = _ask_reader({"do": "formats", "how": how}, page)["format"]
    return None if value is None else str(value)


def _is_cheap(kind: str, selector: str, page: Page) -> bool:
    body, depth = page.html or page.body, DEPTHS[0]
    seconds = growth_of(kind, selector).seconds(body.count(b"<"), depth)
    return is_small(body) and seconds <= CHEAP_S and not is_deeper(page.document.root, depth)


def _ask_reader(question: dict[str, Any], page: Page) -> dict[str, Any]:
    try:
        return ask_once(question, page.body)
    except ReadFailed as error:
        raise NotRead(f"could not read the page {page.url}: {error}") from error
