"""Reads Scrapy's DOWNLOAD_SLOTS: which hosts have a delay and a number in flight of their own, for all processes.

A slot belongs to the host of its name. A slot of another name, which a request chooses with `download_slot`, does not
count: the frontier knows hosts only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import UsageError
from shoal.frontier.validation import MOST_HOST_TERMS
from shoal.model import HostPoliteness

_HOST = re.compile(r"[\w-]+(\.[\w-]+)*|[\da-f]*:[\da-f:.]+")
_USED = ("concurrency", "delay")
_RANDOM = ("jitter", "randomize_delay")


def slot_hosts(
    slots: Mapping[str, Any], usual: HostPoliteness, rate_of: Callable[[float], float], most_of: Callable[[int], int]
) -> tuple[HostPoliteness, ...]:
    """`usual` has what a slot does not say. `rate_of` a delay and `most_of` a number in flight are what the frontier
    makes of it. Raises UsageError."""
    found = []
    for name, slot in slots.items():
        if _is_host(name):
            rate = rate_of(_number(name, slot, "delay")) if "delay" in slot else usual.rate
            per_host = most_of(int(_number(name, slot, "concurrency"))) if "concurrency" in slot else usual.per_host
            found.append(HostPoliteness(_host(name), rate, per_host))
    if len(found) > MOST_HOST_TERMS:
        raise UsageError(f"DOWNLOAD_SLOTS has {len(found):,} hosts: at most {MOST_HOST_TERMS} have slots of their own")
    return tuple(found)


def slot_warnings(slots: Mapping[str, Any]) -> list[str]:
    """What cannot be done of DOWNLOAD_SLOTS."""
    found = []
    for name, slot in slots.items():
        if not _is_host(name):
            found.append(f"DOWNLOAD_SLOTS: {name!r} is not used: it is no host name, and delays belong to hosts")
            continue
        if "." not in name and ":" not in name and name != "localhost":
            found.append(
                f"DOWNLOAD_SLOTS: {name!r} is used for a host of this name only, and not for requests with "
                f"download_slot={name!r}: delays belong to hosts"
            )
        for key, value in slot.items():
            if key in _RANDOM and value:
                found.append(f"DOWNLOAD_SLOTS: {name}: {key}={value!r} is not used: delays have no random part")
            elif key not in (*_USED, *_RANDOM):
                found.append(f"DOWNLOAD_SLOTS: {name}: {key}={value!r} has no equivalent")
    return found


def _is_host(name: str) -> bool:
    return _HOST.fullmatch(name.lower()) is not None


def _host(name: str) -> str:
    return f"[{name.lower()}]" if ":" in name else name.lower()


def _number(name: str, slot: Mapping[str, Any], key: str) -> float:
    try:
        number = float(slot[key])
    except (TypeError, ValueError):
        number = -1.0
    if not 0 <= number < math.inf:
        raise UsageError(f"DOWNLOAD_SLOTS: {name}: {key} is {slot[key]!r}: use a number from 0 up") from None
    return number
