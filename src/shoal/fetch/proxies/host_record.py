"""What a pool knows about one host: how each proxy works there."""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.fetch.proxies.proxy_record import ProxyRecord


class IndexSet:
    """A set of proxies from which one can be drawn at once."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.items)

    def add(self, index: int) -> None:
        if index not in self._places:
            self._places[index] = len(self.items)
            self.items.append(index)

    def discard(self, index: int) -> None:
        place = self._places.pop(index, None)
        if place is not None and (last := self.items.pop()) != index:
            self.items[place], self._places[last] = last, place


@dataclass(slots=True)
class HostRecord:
    records: dict[int, ProxyRecord] = field(default_factory=dict)
    proven: IndexSet = field(default_factory=IndexSet)
    suspects: set[int] = field(default_factory=set)
    """Proxies that failed here since the last success."""
    tier: int = 0
    tier_until: float = 0.0
    blocks_in_a_row: int = 0
