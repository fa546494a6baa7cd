"""Sinks that are HTTP endpoints."""

from __future__ import annotations

import hmac
import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.sinks.sink_delivery import SinkDelivery, Step
from shoal.store.crawl.sink_state import list_refused
from shoal.store.store import Store
from tests.fleet.receiving import Receiver, receiving
from tests.sinks.feeding import BOOK, KEY, book, drain, job_with_sink, opened, save_page, status
from tests.store.make import JOB

SECRET = "s3cret"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def url(receiver: Receiver) -> str:
    return f"{receiver.url}#rows=2&secret={{secret:hook}}"


def sink(url: str) -> Any:
    return opened(url, {"hook": SECRET})


def titles(content: dict[str, Any]) -> list[str]:
    return [item["title"] for item in content["items"]]


def test_items_arrive_in_signed_batches(store: Store, receiver: Receiver, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"), book("b", "2"))
    save_page(store, 2, 1, book("c"))
    drain(store, sink(url))
    assert [titles(content) for content in receiver.told] == [["a", "b"], ["c"]]
    assert receiver.told[0]["items"][0]["_id"] == "1" and receiver.told[0]["items"][0]["price"] == "9.50"
    for headers, body in receiver.got:
        id, at = headers["Webhook-Id"], headers["Webhook-Timestamp"]
        assert headers["Idempotency-Key"] == id == json.loads(body)["batch"]
        digest = hmac.digest(SECRET.encode(), f"{id}.{at}.".encode() + body, sha256)
        assert headers["Webhook-Signature"] == f"v1,{b64encode(digest).decode()}"
    save_page(store, 1, 2, book("a", "1"))
    drain(store, sink(url))
    assert receiver.told[-1]["removed"] == [{"_id": "2", "_type": "Book", "_job": JOB, "_deleted": True}]


def test_a_batch_that_failed_is_repeated_with_the_same_keys_and_pages(
    store: Store, receiver: Receiver, url: str
) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"), book("b"))
    save_page(store, 2, 1, book("c"))
    receiver.answers += [204, 503]
    feed = SinkDelivery(store, KEY, sink(url))
    with pytest.raises(Unavailable, match="answered 503"):
        feed.step()
    feed.close()
    save_page(store, 3, 1, book("d"))
    drain(store, sink(url))
    by_key: dict[str, set[str]] = {}
    for headers, body in receiver.got:
        by_key.setdefault(headers["Idempotency-Key"], set()).update(titles(json.loads(body)))
    assert sorted(map(sorted, by_key.values())) == [["a", "b"], ["c"], ["d"]]
    assert status(store).behind == 0


def test_what_arrived_is_not_sent_again_by_the_same_process(store: Store, receiver: Receiver, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"), book("b"))
    save_page(store, 2, 1, book("c"))
    receiver.answers += [204, 429]
    feed = SinkDelivery(store, KEY, sink(url))
    with pytest.raises(Unavailable):
        feed.step()
    while feed.step() is Step.DELIVERED:
        pass
    feed.close()
    assert [titles(content) for content in receiver.told] == [["a", "b"], ["c"], ["c"]]


def test_an_item_that_the_endpoint_refuses_is_put_aside(store: Store, receiver: Receiver, url: str) -> None:
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"), book("b"))
    receiver.answers += [422, 422, 204]
    drain(store, sink(url))
    assert [titles(content) for content in receiver.told] == [["a", "b"], ["a"], ["b"]]
    [refused] = list_refused(store, JOB, {})
    assert refused["data"]["title"] == "a" and refused["reason"] == "422"


def test_a_path_may_have_any_letters(receiver: Receiver) -> None:
    address = receiver.url.replace("/hook?b=2&a=1", "/bücher neu/%20?ort=Köln&a=1")
    opened(address).prepare([BOOK])
    assert receiver.targets == ["/b%C3%BCcher%20neu/%20?ort=K%C3%B6ln&a=1"]


def test_what_somebody_has_to_mend_is_named(receiver: Receiver, url: str) -> None:
    for code, words in {401: "answered 401: check", 301: "301, and redirects are not followed"}.items():
        receiver.answers.append(code)
        with pytest.raises(UsageError, match=words) as caught:
            sink(url).prepare([BOOK])
        assert SECRET not in str(caught.value)
    with pytest.raises(Unavailable, match="refused"):
        opened("http://127.0.0.1:1/items").prepare([BOOK])
    with pytest.raises(UsageError, match="rows=0"):
        opened("https://host.test/#rows=0")
