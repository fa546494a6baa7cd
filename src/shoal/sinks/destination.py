"""What every kind of sink implements, and what it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from shoal.errors import ShoalError
from shoal.model import ItemType
from shoal.store.crawl.change_log import ItemName
from shoal.store.crawl.sink_state import Refusal


class SinkLost(ShoalError):
    """The destination has lost what was delivered: everything has to be delivered again."""


class SinkItem(NamedTuple):
    name: ItemName
    page: int
    url: str | None
    data: str
    """A JSON object."""
    fetched_at: float | None


@dataclass(frozen=True, slots=True)
class SinkBatch:
    job: str
    number: int
    """A batch that is repeated has the same number."""
    types: Sequence[ItemType]
    """All types of the job so far."""
    chunks: Iterator[Sequence[SinkItem]]
    """The new and changed items, in parts that fit into memory."""
    removed: Sequence[ItemName]
    """Items that the store no longer has."""


class Destination:
    """Its methods run in one thread at a time. They raise Unavailable for what may pass without help, UsageError for
    what somebody has to mend, and SinkLost."""

    fixed_batches = False
    """Whether a repeated batch must have exactly the same changes as before."""
    buffers = False
    """Whether `deliver` only collects, and `flush` makes it durable. The end of what is flushed is stored before it."""
    items_at_once = 2_000
    """About how many items a chunk has: fewer, or those of one page."""

    def prepare(self, types: Sequence[ItemType]) -> None:
        """Connects, and checks that items of these types can be delivered."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Within it no other process writes there. What it wrote is durable after the block, unless it `buffers`.

        The items are read from the store inside the block. So a process that was held up can never overwrite newer
        items with those that it read before.
        """
        return nullcontext()

    def deliver(self, batch: SinkBatch) -> list[Refusal]:
        """Delivering a batch again has no further effect. Returns the items that the destination refused."""
        raise NotImplementedError

    def is_full(self, idle: bool) -> bool:
        """Whether what was collected should be flushed now; `idle`: nothing more is waiting in the log."""
        return True

    def flush(self, number: int) -> list[Refusal]:
        """Makes what was collected durable, under the number of the batch. May be called again after Unavailable."""
        return []

    def discard(self) -> None:
        """Forgets what was collected."""

    def close(self) -> None: ...


Options = Mapping[str, str]
