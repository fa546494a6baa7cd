"""An item as JSON, for destinations that are no tables."""

from __future__ import annotations

import json
from typing import Any

from shoal.sinks.destination import SinkItem
from shoal.store.crawl.change_log import ItemName


def item_fields(job: str, item: SinkItem) -> dict[str, Any]:
    """The item's fields after those that say what it is and where it comes from."""
    own = {"_id": item.name.id, "_type": item.name.type, "_job": job, "_url": item.url}
    return {**own, **json.loads(item.data), **own}


def removed_fields(job: str, name: ItemName) -> dict[str, Any]:
    return {"_id": name.id, "_type": name.type, "_job": job, "_deleted": True}


def json_line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
