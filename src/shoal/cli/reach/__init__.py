"""What commands ask of jobs, hosts, schedules and tokens, wherever they are: in the home, on the fleet, behind an API.

`own_….py` reach them by the databases themselves, `api_….py` by calls of an API; commands know neither, so that both
print the same. `Session` opens the one that the settings ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import UsageError

if TYPE_CHECKING:
    from shoal.cli.order import Order
    from shoal.jobs.explain import Explanation
    from shoal.jobs.overview import Overview
    from shoal.jobs.place import Standing
    from shoal.jobs.quality import Quality
    from shoal.model import Figures, JobState
    from shoal.store.diff import Difference
    from shoal.store.hosts import Said
    from shoal.store.jobs import Job
    from shoal.store.records import Where

Record = dict[str, Any]


class ReachedJob(Protocol):
    """One job."""

    @property
    def job(self) -> Job:
        """As it was when it was found; from an API, without its secrets."""

    def standing(self) -> Standing:
        """Cheap enough to be asked for twice a second."""

    def overview(self) -> Overview: ...

    def quality(self) -> Quality: ...

    def pages(self, where: Where) -> Iterator[Record]: ...

    def body(self, fingerprint: str) -> bytes: ...

    def items(self, where: Where, *, provenance: bool) -> Iterator[Record]:
        """As an export has them, or with `_url`, `_page` and `_type`."""

    def rejects(self, where: Where) -> Iterator[Record]: ...

    def dead(self, where: Where) -> Iterator[Record]: ...

    def retry(self, where: Where) -> int:
        """How many dead letters are queued again."""

    def explain(self, url: str) -> Explanation: ...

    def differences(self, later: str) -> Iterable[Difference]:
        """Against another job, by its name."""

    def write(self, what: str, output: str) -> int | None:
        """Writes `items`, `pages` or `inputs`; how many records they were, None if that cannot be told here."""

    def write_archive(self, output: str) -> int:
        """How many bytes it was."""

    def pause(self) -> str:
        """Gives the words that say what comes of it, as `resume` and `cancel` do."""

    def resume(self) -> str | None:
        """None: nobody works on it, and it can go on in this process."""

    def change_limits(self, limits: Mapping[str, Any]) -> None:
        """By the names of `Limits`; a job that a limit ended can go on then. Raises UsageError if it cannot."""

    def cancel(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A job in a list of them."""

    id: str
    name: str
    state: JobState
    figures: Figures
    started_at: float | None


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A job that is the fleet's from now on."""

    id: str
    name: str
    accepted: int
    duplicates: int
    rejected: int
    listed: int | None
    """How many URLs are fetched of a list, if no link of theirs is followed."""


class Jobs(Protocol):
    """All of them, and the hosts that they ask."""

    def find(self, name: str) -> ReachedJob:
        """By its id, the beginning of one, or "last". Raises UnknownJob."""

    def newest(self, limit: int) -> list[Listed]: ...

    def newest_figures(self, limit: int) -> Iterator[Record]: ...

    def hosts(self, *, robots: bool) -> list[Record]:
        """Without what robots.txt asks of each, if it is not wanted: reading them takes a while."""

    def host(self, name: str, said: Said) -> Record:
        """With an operator's word on it, if anything is said. Raises UnknownHost."""


class Schedules(Protocol):
    """By name or id; whoever names one that there is not meets a UsageError."""

    def add(self, name: str, cron: str, zone: str, overlap: str, order: Order, urls: list[str]) -> Record: ...

    def all(self) -> list[Record]: ...

    def remove(self, name: str) -> str:
        """Its name."""

    def pause(self, name: str, paused: bool) -> Record: ...

    def run(self, name: str) -> str:
        """The id of its job."""


class Tokens(Protocol):
    def add(self, name: str, scope: str) -> str:
        """The token itself."""

    def all(self) -> list[Mapping[str, Any]]: ...

    def remove(self, name: str) -> None:
        """By its name or id. Raises UsageError if there is none."""


def no_schedule(name: str) -> UsageError:
    return UsageError(f"there is no schedule {name!r}: `shoal schedule list` lists them")


def no_token(name: str) -> UsageError:
    return UsageError(f"there is no token {name!r}: `shoal token list` lists them")
