"""What the pages read and control: the jobs of a home or of a fleet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from werkzeug.wrappers import Response

from shoal.frontier.contract import HostState
from shoal.jobs.deployment import JobStatus
from shoal.jobs.explain import Explanation
from shoal.jobs.job_overview import Overview
from shoal.model import Target, Trail
from shoal.store.archive.archive_folders import Archive
from shoal.store.fleet.tokens import TokenScope
from shoal.store.jobs import Job
from shoal.store.results.listings import Where
from shoal.store.results.pagination import Position
from shoal.store.results.time_series import Point
from shoal.store.store import Store
from shoal.telemetry.read_logs import Event


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
    slots: int
    memory_bytes: int
    browser_open: int
    browser_pages: int
    """How many pages its browser may have open; 0: it has none."""
    waiting_for: str | None
    version: str
    heartbeat_age_s: float
    lanes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Server:
    name: str
    address: str
    fault: str | None
    detail: str = ""
    answered_ms: float | None = None


@dataclass(frozen=True, slots=True)
class LaneView:
    name: str
    processes: int
    jobs: int
    """Unfinished."""
    queued: int | None
    """Requests; None: Redis is away, like the next two."""
    leased: int | None
    oldest_s: float | None
    """How long the host that waits longest has waited for a worker."""


@dataclass(frozen=True, slots=True)
class ProxiesView:
    pools: Sequence[Mapping[str, Any]]
    """The one whose requests succeed least comes first."""
    failing: Sequence[Mapping[str, Any]]
    """The proxies that succeed least, of all pools."""


@dataclass(frozen=True, slots=True)
class FleetView:
    points: Sequence[Point]
    """How the viewer's jobs went over the last day."""
    processes: Sequence[Process]
    servers: Sequence[Server]
    lanes: Sequence[LaneView]
    backoff: Sequence[HostState]
    """Hosts that are blocked, paused or slowed down; those blocked longest first."""
    backoff_count: int
    schedules: Sequence[Mapping[str, Any]]
    tokens: Sequence[Mapping[str, Any]]
    """Empty unless the viewer is an admin."""
    proxies: ProxiesView
    """Empty unless the viewer is an admin."""


class Source(Protocol):
    """Methods that take a job or its name raise ShoalError with the reason."""

    @property
    def title(self) -> str:
        """Where the jobs are: a folder or the fleet."""

    @property
    def shoal(self) -> str:
        """The beginning of commands that act on these jobs."""

    @property
    def store(self) -> Store: ...

    @property
    def background(self) -> Executor:
        """Reads what nobody waits for. It ends before what it reads from is closed."""

    def archive(self) -> Archive:
        """A reader of its own, which the caller closes."""

    def jobs(self, viewer: Viewer, after: Position | None, limit: int) -> list[tuple[Position, Job]]:
        """Newest first."""

    def find(self, viewer: Viewer, id: str) -> Job: ...

    def status(self, job: Job) -> JobStatus: ...

    def overview(self, job: Job) -> Overview: ...

    def next_requests(self, job: Job, most: int) -> list[tuple[Target, Trail]]:
        """The head of the job's queue; empty if it is not in the frontier."""

    def logs(self, viewer: Viewer, job: Job, most: int) -> list[Event] | None:
        """Log events about the job, oldest first; None if the viewer may not see them."""

    def next_runs(self, viewer: Viewer) -> Mapping[str, str]:
        """By the id of a schedule's last job: when the schedule starts the next."""

    def workers(self) -> str | None:
        """How many workers crawl, in words; None for a home."""

    def download(self, parts: Iterator[bytes], media: str, name: str) -> Response:
        """Streams a file."""

    def hosts(self, names: Sequence[str]) -> list[HostState]:
        """Those that have a clock."""

    def explain(self, job: Job, url: str) -> Explanation: ...

    def control(self, viewer: Viewer, job: Job, verb: str) -> str:
        """`pause`, `resume` or `cancel`; returns what happens next."""

    def retry(self, viewer: Viewer, job: Job, where: Where) -> int: ...

    def change(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> None: ...

    def preview(self, viewer: Viewer, job: Job, options: Mapping[str, Any]) -> str:
        """How many queued URLs the change would drop, in words."""

    def submit(self, viewer: Viewer, urls: Sequence[str], options: Mapping[str, Any]) -> str:
        """Returns the id of the new job. Raises UsageError, also where jobs are started by a command."""

    @property
    def can_submit(self) -> bool: ...

    def fleet(self, viewer: Viewer) -> FleetView | None:
        """None for a home."""
