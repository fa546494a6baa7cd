"""Requests as JSON, and back: what somebody else may have written to Redis chooses no code."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from scrapy import FormRequest, Request, Spider

from shoal.scrapy.request_json import pack, unpack


class Books(Spider):  # type: ignore[misc]
    name = "books"

    def parse(self, response: Any) -> None: ...

    def failed(self, failure: Any) -> None: ...


class Settable:
    """What a callback's name must not reach."""

    def __call__(self, response: Any) -> None: ...


def test_a_request_is_the_same_after_a_stay_in_the_frontier() -> None:
    spider = Books()
    request = FormRequest(
        "http://x.example/a?b=1", spider.parse, formdata={"q": "1"}, errback=spider.failed, priority=3
    )
    request.meta["pair"] = (1, b"2")
    packed = pack(request, spider)
    again = unpack(packed, packed.callback, packed.fields, spider)
    assert type(again) is FormRequest
    assert again.to_dict(spider=spider) == request.to_dict(spider=spider)


def test_a_class_of_requests_that_the_project_has_not_imported_stays_so() -> None:
    sys.modules.pop("this", None)
    for path in ("this.Request", "subprocess.Popen", "nonsense"):
        packed = pack(Request("http://x.example/"), Books())._replace(fields={"t": path})
        with pytest.raises(ValueError, match=f"{path} is not a class of requests.*SHOAL_REQUEST_CLASSES"):
            unpack(packed, "", packed.fields, Books())
    assert "this" not in sys.modules


def test_only_methods_of_the_spider_are_callbacks() -> None:
    spider = Books(tool=Settable())
    packed = pack(Request("http://x.example/"), spider)
    for name in ("tool", "__class__", "name"):
        with pytest.raises(ValueError, match=f"'{name}' is not a method of the spider"):
            unpack(packed, name, {}, spider)
        with pytest.raises(ValueError, match=f"'{name}' is not a method of the spider"):
            unpack(packed, "", {"e": name}, spider)
