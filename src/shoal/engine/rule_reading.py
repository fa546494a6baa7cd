"""A page read by rules in a reader process: the question and the answer as plain values that JSON can hold.

Only rules go there: they are data. A spider is code and stays where it was loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from shoal.fetch.charset import to_utf8
from shoal.model import ItemRecord, RejectRecord
from shoal.spiders.page import Page, Request
from shoal.spiders.picks import pick
from shoal.spiders.running import CallbackFailed, Findings, collect, sorted_out
from shoal.spiders.spider import Spider

_KEPT_RULES = 32


class PageAsk(NamedTuple):
    """A page without its body, and whether the body is text."""

    url: str
    status: int
    content_type: str
    headers: Mapping[str, str]
    meta: Mapping[str, Any]
    depth: int
    is_text: bool

    @classmethod
    def of(cls, page: Page) -> PageAsk:
        about = (page.url, page.status, page.content_type, dict(page.headers), dict(page.meta), page.depth)
        return cls(*about, is_text=bool(page.html))

    def page(self, body: bytes) -> Page:
        html = to_utf8(body, self.headers.get("content-type", self.content_type)) if self.is_text else b""
        *about, _ = self
        url, status, content_type, headers, meta, depth = about
        return Page(url, body, status, content_type, headers, meta, depth, html)  # type: ignore[arg-type]


def rules_question(spider: Spider, callback: str, page: Page, do: str = "rules") -> dict[str, Any]:
    return {"do": do, "rules": spider.rules, "callback": callback, "page": PageAsk.of(page)}


def findings_of(reply: dict[str, Any], spider: Spider) -> tuple[Findings, str | None]:
    """What the rules found, and the page's title. Raises CallbackFailed."""
    if (failure := reply.get("failure")) is not None:
        raise CallbackFailed(failure)
    found = Findings(
        [ItemRecord(*item) for item in reply["items"]],
        [RejectRecord(*reject) for reject in reply["rejects"]],
        [Request(url, callback=callback, priority=priority) for url, callback, priority in reply["requests"]],
        {cls for cls in spider.item_types if cls.__name__ in reply["types"]},
    )
    return found, reply["title"]


def read_by_rules(ask: dict[str, Any], body: bytes) -> dict[str, Any]:
    spider, page = spider_of(ask["rules"]), PageAsk(*ask["page"]).page(body)
    try:
        found = sorted_out(collect(spider.named(ask["callback"]), page), page)
    except MemoryError:
        raise
    except Exception as error:
        return {"failure": CallbackFailed.of(spider, ask["callback"], error).reason}
    return {
        "items": [(item.type, item.text, item.key) for item in found.items],
        "rejects": [(reject.type, reject.data, reject.reason) for reject in found.rejects],
        "requests": [(request.url, request.callback, request.priority) for request in found.requests],
        "types": [cls.__name__ for cls in found.types],
        "title": page.parsed_title(),
    }


def select(ask: dict[str, Any], body: bytes) -> list[Any]:
    """The values that one selector gives."""
    return pick(ask["kind"], ask["selector"]).values(PageAsk(*ask["page"]).page(body).document)


@lru_cache(_KEPT_RULES)
def spider_of(rules: str) -> Spider:
    # Only here: what rules need takes a tenth of a second to load, and a spider in Python does without.
    from shoal.spiders.rules import from_json

    return from_json(rules)
