"""Tries a callback on one page: shows the values of each field, empty fields, and the requests it would follow.

The callback runs as in a crawl. Its page remembers where items were read from, and these places are then read again,
field by field.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_jsonable_python

from shoal.errors import InvalidURL
from shoal.extract.extract_errors import CastError
from shoal.model import ItemRecord, RejectRecord, ScopeKind
from shoal.spiders.callback_limits import CallbackLimits
from shoal.spiders.field_selectors import Place, pick_by_spelling
from shoal.spiders.input_sources import read_sources
from shoal.spiders.item import Item, Reject
from shoal.spiders.item_reader import Slot, item_reader_for
from shoal.spiders.page import I, Page, Request
from shoal.spiders.run_callback import CallbackFailed, run
from shoal.spiders.spider import Spider
from shoal.urls import Params, Resolver, Scope, Traps, canonical
from shoal.urls.traps import parse_rules

NOTHING: tuple[object, ...] = (None, "", [], {})


@dataclass(slots=True)
class FieldTrial:
    """One field, over all places where it was looked for."""

    name: str
    source: str
    """The selector as written; empty if the callback set the field itself."""
    required: bool
    filled: int = 0
    empty: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list)
    """Raw text, and why it is not a valid value."""
    sample: Any = None
    """The first value, as JSON."""

    @property
    def nowhere(self) -> bool:
        """Whether the field is required and has no value in any place."""
        return self.required and not self.filled

    def note(self, value: Any) -> None:
        if value in NOTHING:
            self.empty += 1
            return
        self.filled += 1
        if self.sample is None:
            self.sample = to_jsonable_python(value, fallback=str)


@dataclass(slots=True)
class ItemTrial:
    type: str
    source: str
    """The selector of the places; empty: the whole page."""
    places: int = 0
    fields: dict[str, FieldTrial] = field(default_factory=dict)


@dataclass(slots=True)
class FollowTrial:
    url: str
    callback: str
    method: str
    refusal: str | None
    """Why it would not be offered: out of scope, or not a URL that can be fetched."""


@dataclass(slots=True)
class Trial:
    url: str
    callback: str
    items: list[ItemRecord] = field(default_factory=list)
    rejects: list[RejectRecord] = field(default_factory=list)
    kinds: list[ItemTrial] = field(default_factory=list)
    follows: list[FollowTrial] = field(default_factory=list)
    failure: str | None = None
    """Set if the callback failed: spider, callback, error and line."""


class TracedPage(Page):
    """Remembers each place from which an item was read."""

    def watch(self) -> list[tuple[type[Item], str, list[Place]]]:
        seen: list[tuple[type[Item], str, list[Place]]] = self.__dict__.setdefault("_seen", [])
        return seen

    def each(self, selector: str, cls: type[I]) -> Iterator[I]:
        picked = pick_by_spelling(selector)
        self.watch().append((cls, selector, list(picked.places(self._place(picked.kind)))))
        return super().each(selector, cls)

    def item(self, cls: type[I]) -> I | None:
        from_data = any(slot.pick.kind == "jsonpath" for slot in item_reader_for(cls).slots)
        self.watch().append((cls, "", [self._place("jsonpath" if from_data else "css")]))
        return super().item(cls)


def run_trial(spider: Spider, callback: str, page: Page) -> Trial:
    """Raises UsageError if the spider has no such callback; all other failures are in the trial."""
    function = spider.named(callback)
    trial = Trial(page.url, function.__name__)
    values = {part.name: getattr(page, part.name) for part in dataclasses.fields(Page)}
    watched = TracedPage(**values)
    try:
        findings = asyncio.run(run(spider, callback, watched, CallbackLimits()))
    except CallbackFailed as failed:
        trial.failure = failed.reason
        return trial
    trial.items, trial.rejects = findings.items, findings.rejects
    trial.kinds = [*_of_places(watched), *_of_values(findings.items, {cls.__name__ for cls, _, _ in watched.watch()})]
    trial.follows = list(_follows(spider, trial.callback, page.url, findings.requests))
    return trial


def start_urls(spider: Spider) -> list[str]:
    """The URLs that can be fetched, canonical and therefore without passwords."""
    if not spider.urls:
        return []
    lines = io.BytesIO("\n".join(spider.urls).encode())
    return [given.target.url for given in read_sources(["-"], Params(), "host", None, lines).inputs if given.target]


def _of_places(page: TracedPage) -> list[ItemTrial]:
    kinds: dict[tuple[str, str], ItemTrial] = {}
    for cls, selector, places in page.watch():
        kind = kinds.setdefault((cls.__name__, selector), ItemTrial(cls.__name__, selector))
        kind.places += len(places)
        reader = item_reader_for(cls, page.usual_decimal)
        for slot in (*reader.slots, *reader.page_slots):
            required = not (slot.optional or slot.has_default or slot.many)
            tried = kind.fields.setdefault(slot.name, FieldTrial(slot.name, slot.pick.text, required))
            for place in places:
                _look(tried, slot, page._place(slot.pick.kind) if slot.pick.of_page else place, page.base_url)
    return list(kinds.values())


def _look(tried: FieldTrial, slot: Slot, place: Place, base_url: str) -> None:
    values = []
    for raw in _raws(slot, place):
        try:
            values.append(_value(raw, slot, base_url))
        except CastError as error:
            tried.faults.append((error.text, str(error)))
            return
        except _NestedFault as fault:
            tried.faults.append(("", str(fault)))
            return
    tried.note(values if slot.many else next(iter(values), None))


def _raws(slot: Slot, place: Place) -> list[Any]:
    if issubclass(slot.to, Item):
        found: list[Any] = list(slot.pick.places(place))
    else:
        found = slot.pick.values(place)
    return [raw for raw in (found if slot.many else found[:1]) if raw not in NOTHING]


class _NestedFault(Exception):
    pass


def _value(raw: Any, slot: Slot, base_url: str) -> Any:
    if issubclass(slot.to, Item):
        inner = item_reader_for(slot.to).read(raw, base_url)
        if isinstance(inner, Reject):
            raise _NestedFault(f"{inner.type}: {inner.reason}")
        return inner
    return slot.make(raw, base_url)


def _of_values(items: list[ItemRecord], watched: set[str]) -> list[ItemTrial]:
    """Items that the callback built itself: only the values of their fields are known."""
    kinds: dict[str, ItemTrial] = {}
    for item in items:
        if item.type not in watched:
            kind = kinds.setdefault(item.type, ItemTrial(item.type, ""))
            kind.places += 1
            for name, value in item.data.items():
                kind.fields.setdefault(name, FieldTrial(name, "", required=False)).note(value)
    return list(kinds.values())


def _follows(spider: Spider, callback: str, page_url: str, requests: list[Request]) -> Iterator[FollowTrial]:
    options = spider.options
    seeds = start_urls(spider) or [canonical(page_url)]
    kind = ScopeKind(options.get("scope", ScopeKind.HOST))
    scope = Scope(kind, seeds, tuple(options.get("include", ())), tuple(options.get("exclude", ())))
    traps = Traps(parse_rules(options.get("allow_trap", ())), time.time())
    resolver = Resolver(scope, traps, Params(), "host")
    for request in requests:
        try:
            url = canonical(request.url)
            refusal = resolver.refusal(url)
        except InvalidURL as error:
            url, refusal = request.url, error.reason
        yield FollowTrial(url, request.callback or callback, request.method, refusal)
