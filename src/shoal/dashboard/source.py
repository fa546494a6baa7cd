"""What the pages read and control: the jobs of a home or of a fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shoal.frontier.contract import HostState
from shoal.jobs.deployment import JobStatus
from shoal.jobs.explain import Explanation
from shoal.jobs.job_overview import Overview
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import Job
from shoal.store.results.listings import Where
from shoal.store.results.pagination import Position
from shoal.store.store import Store


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks at the pages."""

    name: str
    scope: TokenScope
    owner: str | None = None
    """The token whose jobs it sees; None: all jobs."""

    @property
    def may_control(self) -> bool:
        return self.scope.includes(TokenScope.SUBMIT)

    @property
    def is_admin(self) -> bool:
        return self.scope.includes(TokenScope.ADMIN)


@dataclass(frozen=True, slots=True)
class Process:
    """A process of the fleet."""

    role: str
    machine: str
    pid: int
    doing: str
    per_s: float | None
    in_flight: int
    memory_bytes: int
    waiting_for: str | None


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    address: str
    fault: str | None
    detail: str = ""
    answered_ms: float | None = None


@dataclass(frozen=True, slots=True)
class FleetView:
    processes: Sequence[Process]
    servers: Sequence[Server]
    lanes: Sequence[tuple[str, int, int]]
    """Name, processes that serve it, unfinished jobs."""
    schedules: Sequence[Mapping[str, Any]]
    tokens: Sequence[Mapping[str, Any]]
    """Empty unless the viewer is an admin."""


class Source(Protocol):
    """Methods that take a job or its name raise ShoalError with the reason."""

    @property
    def title(self) -> str:
        """Where the jobs are: a folder or the fleet."""

    @property
    def store(self) -> Store: ...

    def jobs(self, viewer: Viewer, after: Position | None, limit: int) -> list[tuple[Position, Job]]:
        """Newest first."""

    def find(self, viewer: Viewer, id: str) -> Job: ...

    def status(self, job: Job) -> JobStatus: ...

    def overview(self, job: Job) -> Overview: ...

    def hosts(self, names: Sequence[str]) -> list[HostState]:
        """Those that have a clock."""

    def explain(self, job: Job, url: str) -> Explanation: ...

    def control(self, viewer: Viewer, job: Job, verb: str) -> str:
        """`pause`, `resume` or `cancel`; returns what happens next."""

    def retry(self, viewer: Viewer, job: Job, where: Where) -> int: ...

    def change(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> None: ...

    def preview(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> str | None:
        """How many queued URLs the change would drop, in words; None if nobody can say."""

    def submit(self, viewer: Viewer, urls: Sequence[str], options: Mapping[str, Any]) -> str:
        """Returns the id of the new job. Raises UsageError, also where jobs are started by a command."""

    @property
    def can_submit(self) -> bool: ...

    def fleet(self, viewer: Viewer) -> FleetView | None:
        """None for a home."""
