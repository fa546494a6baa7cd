"""Sinks that are classes of a user's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal.errors import Unavailable, UsageError
from shoal.model.sink_url import check_fleet_sink, check_sink, read_sink
from shoal.sinks.sink_delivery import SinkDelivery
from shoal.store.crawl.sink_state import list_refused
from shoal.store.store import Store
from tests.sinks.feeding import KEY, book, drain, job_with_sink, opened, save_page, status
from tests.store.make import JOB

SINKS = """
kept = {}

class Keep:
    def __init__(self, prefix, token=None):
        self.prefix = prefix
    def deliver(self, items, removed):
        refused = {item["_id"]: "no b" for item in items if item["title"] == "b"}
        kept.update({item["_id"]: self.prefix + item["title"] for item in items if item["_id"] not in refused})
        for item in removed:
            kept.pop(item["_id"], None)
        return refused or None
    def close(self):
        kept["closed"] = True

class Broken(Keep):
    def deliver(self, items, removed):
        raise OSError("the disk is away")

class Wrong(Keep):
    def deliver(self, items, removed):
        return ["b"]

class NoSink:
    pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    name = f"sinks_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(SINKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield name


def kept(module: str) -> dict[str, Any]:
    found: dict[str, Any] = __import__(module).kept
    return found


def test_a_class_gets_items_and_what_went_and_may_refuse(store: Store, module: str) -> None:
    url = f"{module}:Keep?prefix=x-&token={{secret:own}}"
    check_sink(url)
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a", "1"), book("b", "2"), book("c", "3"))
    drain(store, opened(url, {"own": "hush"}))
    assert kept(module) == {"1": "x-a", "3": "x-c", "closed": True}
    [refused] = list_refused(store, JOB, {})
    assert (refused["data"]["title"], refused["reason"]) == ("b", "no b")
    save_page(store, 1, 2, book("a", "1"))
    drain(store, opened(url, {"own": "hush"}))
    assert kept(module) == {"1": "x-a", "closed": True}


def test_what_a_class_raises_delays_and_is_named(store: Store, module: str) -> None:
    url = f"{module}:Broken?prefix="
    job_with_sink(store, url)
    save_page(store, 1, 1, book("a"))
    for name, kind, words in (
        ("Broken", Unavailable, "Broken: OSError: the disk is away"),
        ("Wrong", UsageError, r"deliver returned \['b'\]"),
    ):
        feed = SinkDelivery(store, KEY, opened(f"{module}:{name}?prefix="))
        with pytest.raises(kind, match=words):
            feed.step()
        feed.close()
    assert status(store).behind == 1


def test_what_is_no_sink_is_named(module: str) -> None:
    for path, words in {
        f"{module}:NoSink": "has no class NoSink with the methods deliver and close",
        f"{module}:Nothing": "has no class Nothing",
        "subprocess:Popen?args=ls": "has no class Popen with the methods",
        "no_such_module:Sink": "cannot import no_such_module",
    }.items():
        with pytest.raises(UsageError, match=words):
            opened(path)
    with pytest.raises(UsageError, match="unexpected keyword argument 'colour': the parameters after"):
        opened(f"{module}:Keep?prefix=&colour=red")
    with pytest.raises(UsageError, match=r"token=\{secret:NAME\}"):
        check_sink(f"{module}:Keep?token=hush")


def test_a_fleet_takes_only_classes_of_its_modules_and_no_local_files() -> None:
    check_fleet_sink(read_sink("shop.sinks:Keep"), ["shop.sinks"])
    check_fleet_sink(read_sink("postgresql://host/db"), [])
    with pytest.raises(UsageError, match=r"no module in SHOAL_SPIDERS \(it has: shop.sinks\)"):
        check_fleet_sink(read_sink("os:Keep"), ["shop.sinks"])
    for url in ("sqlite:///books.db", "file:///srv/books/"):
        with pytest.raises(UsageError, match="a fleet has many machines"):
            check_fleet_sink(read_sink(url), ["shop.sinks"])
