"""A trial of rules on a page in a reader process, for `shoal check`; and the trial as it was before it became JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from shoal.engine.rule_reading import PageAsk, spider_of
from shoal.model import ItemRecord, RejectRecord
from shoal.spiders.trial import FieldTrial, FollowTrial, ItemTrial, Trial, try_out


def try_rules(ask: dict[str, Any], body: bytes) -> dict[str, Any]:
    return asdict(try_out(spider_of(ask["rules"]), ask["callback"], PageAsk(*ask["page"]).page(body)))


def trial_of(told: dict[str, Any]) -> Trial:
    kinds = [
        ItemTrial(**{**kind, "fields": {name: _field_trial(field) for name, field in kind["fields"].items()}})
        for kind in told["kinds"]
    ]
    items = [ItemRecord(**item) for item in told["items"]]
    rejects = [RejectRecord(**reject) for reject in told["rejects"]]
    follows = [FollowTrial(**follow) for follow in told["follows"]]
    return Trial(told["url"], told["callback"], items, rejects, kinds, follows, told["failure"])


def _field_trial(told: dict[str, Any]) -> FieldTrial:
    return FieldTrial(**{**told, "faults": [(text, why) for text, why in told["faults"]]})
