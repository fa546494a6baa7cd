"""Keeps the items of a crawl in Shoal's store, from where exports and sinks take them.

An item is saved with its page, after all pipelines and before the request is completed. So a request that is repeated
after a kill replaces its items. The pipeline itself only checks that an item can be saved: saving happens in batches
and in another thread.
"""

from __future__ import annotations

import json
from typing import Any

from itemadapter import ItemAdapter
from scrapy.utils.serialize import ScrapyJSONEncoder

from shoal.model import ItemRecord
from shoal.scrapy.json_values import NotSerializable

_ENCODER = ScrapyJSONEncoder(ensure_ascii=False)


class Pipeline:
    def process_item(self, item: Any, spider: Any = None) -> Any:
        """Raises NotSerializable: Scrapy logs it, and the item is not kept."""
        item_record(item)
        return item


def item_record(item: Any) -> ItemRecord:
    name = type(item).__name__
    fields = ItemAdapter(item).asdict()
    try:
        text = _ENCODER.encode(fields)
    except (TypeError, ValueError) as error:
        wrong = next((field for field, value in fields.items() if not _is_json(value)), "?")
        raise NotSerializable(f"field {wrong!r} of {name} cannot be saved as JSON: {error}") from error
    return ItemRecord("item" if name == "dict" else name, text)


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, cls=ScrapyJSONEncoder)
    except (TypeError, ValueError):
        return False
    return True
