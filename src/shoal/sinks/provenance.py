"""Adds to the items of a sink when their page was fetched, and by which version of the spider they were taken.

Every sink has the job and the URL of an item anyway.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from shoal.model import ItemType
from shoal.model.field_type import TEXT, FieldType
from shoal.sinks.destination import SinkItem
from shoal.store.results.columns import iso_time

FIELDS: Mapping[str, FieldType] = {"_fetched_at": FieldType("datetime"), "_spider_version": TEXT}


def types_with_provenance(types: Sequence[ItemType]) -> list[ItemType]:
    return [one._replace(fields={**one.fields, **FIELDS}) for one in types]


def items_with_provenance(
    chunks: Iterator[Sequence[SinkItem]], spider_version: str | None
) -> Iterator[Sequence[SinkItem]]:
    for chunk in chunks:
        yield [_with_provenance(item, spider_version) for item in chunk]


def _with_provenance(item: SinkItem, spider_version: str | None) -> SinkItem:
    at = None if item.fetched_at is None else iso_time(item.fetched_at)
    fields = {**json.loads(item.data), **dict(zip(FIELDS, (at, spider_version), strict=True))}
    return item._replace(data=json.dumps(fields, ensure_ascii=False))
