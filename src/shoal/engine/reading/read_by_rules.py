"""Reads a page by rules in a reader process. Question and answer are plain values, for JSON.

Only rules are sent there, because they are data. A spider is code, and runs where it was loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

from shoal.extract.page import PageHead
from shoal.extract.robots_directives import AGENT
from shoal.fetch.charset import to_utf8
from shoal.model import ItemRecord, RejectRecord, RequestOptions
from shoal.spiders.callback_trial import FieldTrial, FollowTrial, ItemTrial, Trial, run_trial
from shoal.spiders.field_selectors import pick
from shoal.spiders.page import Page, Request
from shoal.spiders.run_callback import CallbackFailed, CallbackResult, collect, sort_findings
from shoal.spiders.spider import Spider

_KEPT_RULES = 32


class RulesRequest(NamedTuple):
    """A page without its body, and whether the body is text."""

    url: str
    status: int
    content_type: str
    headers: Mapping[str, str]
    meta: Mapping[str, Any]
    depth: int
    input: Mapping[str, str]
    is_text: bool

    @classmethod
    def of(cls, page: Page) -> RulesRequest:
        about = (page.url, page.status, page.content_type, dict(page.headers), dict(page.meta), page.depth)
        return cls(*about, input=dict(page.input), is_text=bool(page.html))

    def page(self, body: bytes) -> Page:
        html = to_utf8(body, self.headers.get("content-type", self.content_type)) if self.is_text else b""
        url, status, content_type, headers, meta, depth, input, _ = self
        return Page(url, body, status, content_type, headers, meta, depth, html, input=input)


def rules_question(spider: Spider, callback: str, page: Page, do: str = "rules", agent: str = AGENT) -> dict[str, Any]:
    """`agent` is the name by which the page's directives may address the job."""
    return {"do": do, "rules": spider.rules, "callback": callback, "page": RulesRequest.of(page), "agent": agent}


def findings_of(reply: dict[str, Any], spider: Spider) -> tuple[CallbackResult, PageHead | None]:
    """The results of the rules, and the page's head. Raises CallbackFailed."""
    if (failure := reply.get("failure")) is not None:
        raise CallbackFailed(failure)
    found = CallbackResult(
        [ItemRecord(*item) for item in reply["items"]],
        [RejectRecord(*reject) for reject in reply["rejects"]],
        [_request(*fields) for fields in reply["requests"]],
        {cls for cls in spider.item_types if cls.__name__ in reply["types"]},
        {(use, selector): found for use, selector, found in reply["matches"]},
        files=reply["files"],
    )
    return found, None if reply["head"] is None else PageHead(*reply["head"])


def read_by_rules(ask: dict[str, Any], body: bytes) -> dict[str, Any]:
    spider, page = spider_of(ask["rules"]), RulesRequest(*ask["page"]).page(body)
    try:
        found = sort_findings(collect(spider.named(ask["callback"]), page), page)
    except MemoryError:
        raise
    except Exception as error:
        # The parent reports it as the failure of this page only.
        return {"failure": CallbackFailed.of(spider, ask["callback"], error).reason}
    return {
        "items": [(item.type, item.text, item.key) for item in found.items],
        "rejects": [(reject.type, reject.data, reject.reason) for reject in found.rejects],
        "requests": [_request_fields(request) for request in found.requests],
        "matches": [(*selector, matched) for selector, matched in found.matches.items()],
        "files": found.files,
        "types": [cls.__name__ for cls in found.types],
        "head": page.parsed_head(ask["agent"]),
    }


def _request_fields(request: Request) -> tuple[Any, ...]:
    options = None if request.options is None else request.options.to_fields()
    return request.url, request.callback, request.priority, options


def _request(url: str, callback: str | None, priority: int, options: dict[str, Any] | None) -> Request:
    request = Request(url, callback=callback, priority=priority)
    request.options = None if options is None else RequestOptions.of_fields(options)
    return request


def select(ask: dict[str, Any], body: bytes) -> list[Any]:
    """The values that one selector finds."""
    return pick(ask["kind"], ask["selector"]).values(RulesRequest(*ask["page"]).page(body).document)


@lru_cache(_KEPT_RULES)
def spider_of(rules: str) -> Spider:
    # Imported here only, because it takes a tenth of a second and a spider in Python does not need it.
    from shoal.spiders.rules import from_json

    return from_json(rules)


def try_rules(ask: dict[str, Any], body: bytes) -> dict[str, Any]:
    return asdict(run_trial(spider_of(ask["rules"]), ask["callback"], RulesRequest(*ask["page"]).page(body)))


def trial_of(fields: dict[str, Any]) -> Trial:
    kinds = [
        ItemTrial(**{**kind, "fields": {name: _field_trial(field) for name, field in kind["fields"].items()}})
        for kind in fields["kinds"]
    ]
    items = [ItemRecord(**item) for item in fields["items"]]
    rejects = [RejectRecord(**reject) for reject in fields["rejects"]]
    follows = [FollowTrial(**follow) for follow in fields["follows"]]
    return Trial(fields["url"], fields["callback"], items, rejects, kinds, follows, fields["failure"])


def _field_trial(fields: dict[str, Any]) -> FieldTrial:
    return FieldTrial(**{**fields, "faults": [(text, why) for text, why in fields["faults"]]})
