"""The interface through which commands use jobs, hosts, schedules and tokens.

It has two implementations: `local_….py` use the databases of the home or the fleet, `api_….py` call an API. Commands
know neither, so that they print the same with both. `Session` opens the one that the settings choose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from shoal.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.cli.output_file import OutputFile
    from shoal.cli.remote_job_request import RemoteJobRequest
    from shoal.cli.scrapy_flags import ScrapyFlags
    from shoal.jobs.deployment import JobStatus
    from shoal.jobs.explain import Explanation
    from shoal.jobs.export_files import WrittenFiles
    from shoal.jobs.job_overview import Overview
    from shoal.jobs.job_quality import Quality
    from shoal.jobs.mirror import Mirrored
    from shoal.model import Figures, JobState, Lane
    from shoal.object_store.contract import ObjectStore
    from shoal.store.fleet.host_overrides import StoredOverride
    from shoal.store.jobs import Job
    from shoal.store.results.crawl_shape import CrawlShape
    from shoal.store.results.job_diff import Difference
    from shoal.store.results.listings import Where
    from shoal.store.results.time_series import Point

Record = dict[str, Any]


class JobHandle(Protocol):
    """One job."""

    @property
    def job(self) -> Job:
        """The job at the time it was found; from an API, without its secrets."""

    def job_status(self) -> JobStatus:
        """The current state and figures; cheap enough to call twice a second."""

    def overview(self) -> Overview: ...

    def quality(self) -> Quality: ...

    def series(self) -> list[Point]:
        """How the job went over time, oldest first."""

    def shape(self) -> CrawlShape: ...

    def dead_groups(self) -> list[Record]:
        """Dead letters by reason, status and host, most frequent first."""

    def pages(self, where: Where) -> Iterator[Record]: ...

    def body(self, fingerprint: str) -> bytes: ...

    def items(self, where: Where, *, provenance: bool) -> Iterator[Record]:
        """The same fields as in an export; with provenance also `_url`, `_page` and `_type`."""

    def rejects(self, where: Where) -> Iterator[Record]: ...

    def refused(self, where: Where) -> Iterator[Record]:
        """Items that a sink refused."""

    def redeliver(self) -> int:
        """Lets the sinks try their refused items again and returns how many."""

    def dead(self, where: Where) -> Iterator[Record]: ...

    def retry(self, where: Where) -> int:
        """Queues dead letters again and returns how many."""

    def explain(self, url: str) -> Explanation: ...

    def differences(self, later: str) -> Iterable[Difference]:
        """Compares with a later job, found by id, id prefix, name or "last"."""

    def write(self, what: str, output: OutputFile) -> int | None:
        """Writes `items`, `pages` or `inputs`; returns the number of records, None if unknown."""

    def write_archive(self, output: str) -> int:
        """Writes the archive and returns its size in bytes."""

    def write_files(self, objects: ObjectStore) -> WrittenFiles:
        """Raises UsageError."""
        ...

    def write_mirror(self, folder: Path, overwrite: bool) -> Mirrored:
        """Writes the archived pages as files with links between them. Raises UsageError if that is not possible."""

    def pause(self) -> str:
        """Returns a message about the effect, as `resume` and `cancel` do."""

    def resume(self) -> str | None:
        """Returns None if no process works on the job, so that this one can continue it."""

    def change(self, options: Mapping[str, Any]) -> None:
        """Sets options; a job that a limit ended can continue if it is raised. Raises UsageError if it is not."""

    def cancel(self) -> str: ...

    def remove(self) -> None:
        """Removes the job with all its data. Raises UsageError or Unavailable while somebody works on it."""


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job in a listing."""

    id: str
    name: str
    state: JobState
    figures: Figures
    started_at: float | None
    lane: Lane
    pid: int | str | None = None
    """The process of this machine that crawls it."""


@dataclass(frozen=True, slots=True)
class SubmittedJob:
    """A job that was just submitted to the fleet."""

    id: str
    name: str
    accepted: int
    duplicates: int
    rejected: int
    listed: int | None
    """The number of URLs in the list, if only those are fetched and not their links."""


class Jobs(Protocol):
    """All jobs, and the hosts that they fetch from."""

    def find(self, name: str) -> JobHandle:
        """By id, id prefix, name or "last". Raises UnknownJob."""

    def newest(self, limit: int) -> list[ListedJob]: ...

    def newest_figures(self, limit: int) -> Iterator[Record]: ...

    def database_bytes(self, job: str) -> int:
        """What the rows of the job with this id take. Reads them all."""

    def hosts(self, *, robots: bool) -> list[Record]:
        """`robots`: include the rules of each robots.txt, which are slow to read."""

    def host(self, name: str, override: StoredOverride) -> Record:
        """Applies the operator's override if it is not empty, and returns the host. Raises UnknownHost."""


class Schedules(Protocol):
    """Schedules are found by name or id. Methods raise UsageError for an unknown one."""

    def add(
        self, name: str, cron: str, zone: str, overlap: str, order: RemoteJobRequest, urls: list[str]
    ) -> Record: ...

    def add_scrapy(self, name: str, cron: str, zone: str, overlap: str, flags: ScrapyFlags) -> Record: ...

    def all(self) -> list[Record]: ...

    def remove(self, name: str) -> str:
        """Returns its name."""

    def pause(self, name: str, paused: bool) -> Record: ...

    def run(self, name: str) -> str:
        """Returns the id of the started job."""


class Tokens(Protocol):
    def add(self, name: str, scope: str) -> str:
        """Returns the secret token."""

    def all(self) -> list[Mapping[str, Any]]: ...

    def remove(self, name: str) -> None:
        """By name or id. Raises UsageError for an unknown one."""


class Proxies(Protocol):
    """Pools of proxies. Methods raise UsageError for an unknown one."""

    def pools(self) -> list[Record]: ...

    def pool(self, name: str) -> Record: ...

    def add(self, name: str, text: str) -> None: ...

    def remove(self, name: str) -> None: ...

    def text(self, name: str) -> str:
        """The list itself."""


def no_pool(name: str) -> UsageError:
    return UsageError(f"there is no pool of proxies named {name!r}: `shoal proxies` lists them")


def no_schedule(name: str) -> UsageError:
    return UsageError(f"there is no schedule {name!r}: `shoal schedule list` lists them")


def no_token(name: str) -> UsageError:
    return UsageError(f"there is no token {name!r}: `shoal token list` lists them")
