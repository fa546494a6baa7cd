"""The jobs backend that calls an API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from shoal import __version__
from shoal.cli.backends import JobHandle, ListedJob, Record
from shoal.cli.backends.api_errors import as_shoal_errors
from shoal.cli.output_file import OutputFile
from shoal.cli.write_data_file import write_exported, write_warc
from shoal.client import Client
from shoal.client import Job as JobResponse
from shoal.client.responses.jobs import SeriesPoint
from shoal.control.models.job_detail import ExplanationShown, JobShown, OverviewShown, QualityShown, ShapeShown
from shoal.errors import UnknownHost, UnknownJob, UsageError
from shoal.jobs.data_view import DataView
from shoal.jobs.deployment import JobStatus
from shoal.jobs.explain import Explanation
from shoal.jobs.job_overview import Overview
from shoal.model import Figures, JobState, Lane
from shoal.model.options import to_fields
from shoal.store import tables
from shoal.store.fleet.host_overrides import StoredOverride
from shoal.store.jobs import Job
from shoal.store.results.crawl_shape import CrawlShape
from shoal.store.results.job_diff import Difference, ItemDifference, PageDifference
from shoal.store.results.listings import Where, conditions
from shoal.store.results.pagination import GROUPED_BY
from shoal.store.results.time_series import Point

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.jobs.export_files import WrittenFiles
    from shoal.jobs.job_quality import Quality
    from shoal.jobs.mirror import Mirrored
    from shoal.object_store.contract import ObjectStore

M = TypeVar("M", bound=BaseModel)


class ApiJob:
    def __init__(self, client: Client, job: Job) -> None:
        self._client = client
        self.job = job

    def job_status(self) -> JobStatus:
        with as_shoal_errors(UnknownJob):
            answer = self._client.job(self.job.id)
        return JobStatus(self.job, JobState(answer["state"]), _figures(answer), answer["limiting"])

    def overview(self) -> Overview:
        with as_shoal_errors(UnknownJob):
            return _read_as(OverviewShown, self._client.overview(self.job.id)).root

    def quality(self) -> Quality:
        answer = _read_as(QualityShown, self._client.quality(self.job.id))
        return answer.now, answer.before

    def series(self) -> list[Point]:
        return [_point(answer) for answer in self._client.series(self.job.id)]

    def shape(self) -> CrawlShape:
        return _read_as(ShapeShown, self._client.shape(self.job.id)).root

    def dead_groups(self) -> list[Record]:
        return [dict(group) for group in self._client.dead_groups(self.job.id, *GROUPED_BY)]

    def pages(self, where: Where) -> Iterator[Record]:
        return cast(Iterator[Record], self._client.pages(self.job.id, **cast(Any, where)))

    def body(self, fingerprint: str) -> bytes:
        return self._client.body(self.job.id, fingerprint)

    def items(self, where: Where, *, provenance: bool) -> Iterator[Record]:
        if provenance:
            return self._client.items(self.job.id, **where)
        return self._client.rows(self.job.id, "items", **where)

    def rejects(self, where: Where) -> Iterator[Record]:
        return self._client.rejects(self.job.id, **where)

    def refused(self, where: Where) -> Iterator[Record]:
        return self._client.refused(self.job.id, **where)

    def redeliver(self) -> int:
        return self._client.redeliver(self.job.id)

    def dead(self, where: Where) -> Iterator[Record]:
        return cast(Iterator[Record], self._client.dead(self.job.id, **cast(Any, self._checked(where))))

    def retry(self, where: Where) -> int:
        return self._client.retry(self.job.id, **self._checked(where))

    def explain(self, url: str) -> Explanation:
        return _read_as(ExplanationShown, self._client.explanation(self.job.id, url)).root

    def differences(self, later: str) -> Iterable[Difference]:
        return map(_difference, self._client.diff(self.job.id, later))

    def write(self, what: str, output: OutputFile) -> int | None:
        def exported(format: str, view: DataView) -> Iterator[bytes]:
            id, fields = self.job.id, view.fields
            return self._client.exported(id, format, what=what, fields=fields, provenance=view.provenance)

        return write_exported(exported, self.job, what, output)

    def write_archive(self, output: str) -> int:
        return write_warc(self._client.archive(self.job.id), output)

    def write_files(self, objects: ObjectStore) -> WrittenFiles:
        from shoal.jobs.export_files import write_files
        from shoal.jobs.files_tar import files_of

        return write_files(files_of(self._client.files(self.job.id)), objects)

    def write_mirror(self, folder: Path, overwrite: bool) -> Mirrored:
        raise UsageError(
            f"--mirror needs the archive of the fleet, which the API does not offer page by page: "
            f"run it on a machine of the fleet, or take `shoal export {self.job.id} --warc`"
        )

    def pause(self) -> str:
        return self._client.pause(self.job.id)

    def resume(self) -> str:
        return self._client.resume(self.job.id)

    def change(self, options: Mapping[str, Any]) -> None:
        self._client.change(self.job.id, **to_fields(options))

    def cancel(self) -> str:
        return self._client.cancel(self.job.id)

    def remove(self) -> None:
        self._client.remove(self.job.id)

    def _checked(self, where: Where) -> dict[str, Any]:
        """Raises UsageError for a bad filter before the call, so that the message names the command's option."""
        conditions(tables.dead, self.job.id, where)
        return {name: int(value) if name == "status" else value for name, value in where.items()}


class ApiJobs:
    def __init__(self, client: Client) -> None:
        self._client = client

    def find(self, name: str) -> JobHandle:
        with as_shoal_errors(UnknownJob):
            return ApiJob(self._client, _read_as(JobShown, self._client.spec(self._in_path(name))).root)

    def _in_path(self, name: str) -> str:
        """No path of the API takes a name with a slash: the id of the newest job of that name. Raises UnknownJob."""
        if "/" not in name:
            return name
        for job in self._client.jobs(name=name, limit=1):
            return job["id"]
        raise UnknownJob(f"there is no job {name!r}: `shoal jobs` lists them")

    def newest(self, limit: int) -> list[ListedJob]:
        return [_listed(answer) for answer in self._client.jobs(limit=limit)]

    def newest_figures(self, limit: int) -> Iterator[Record]:
        return cast(Iterator[Record], self._client.jobs(limit=limit))

    def database_bytes(self, job: str) -> int:
        return self._client.size(job)["database_bytes"]

    def hosts(self, *, robots: bool) -> list[Record]:
        return [dict(host) for host in self._client.hosts()]

    def host(self, name: str, override: StoredOverride) -> Record:
        with as_shoal_errors(UnknownHost):
            return dict(self._client.change_host(name, **override) if override else self._client.host(name))


def _read_as(model: type[M], answer: Mapping[str, Any]) -> M:
    """Raises UsageError if the answer does not match this version of Shoal."""
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        raise UsageError(
            f"the API runs another version than this shoal ({__version__}), and its answer cannot be read "
            f"({_first(error)}): install the same version here"
        ) from error


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _figures(answer: JobResponse) -> Figures:
    names = ("found", "queued", "leased", "pages", "assets", "redirects", "dead", "dropped")
    return Figures(**{name: answer[name] for name in names})  # type: ignore[literal-required]


def _listed(answer: JobResponse) -> ListedJob:
    started_at = answer["started_at"]
    at = None if started_at is None else datetime.fromisoformat(started_at).timestamp()
    return ListedJob(
        answer["id"], answer["name"], JobState(answer["state"]), _figures(answer), at, Lane(answer["lane"])
    )


def _point(answer: SeriesPoint) -> Point:
    at = int(datetime.fromisoformat(answer["at"]).timestamp())
    return Point(**cast(Any, {**answer, "at": at}))


def _difference(answer: Mapping[str, Any]) -> Difference:
    fields = {name: value for name, value in answer.items() if name != "kind"}
    if answer["kind"] == "item":
        return ItemDifference(**fields)
    return PageDifference(**{**fields, "fingerprint": int(answer["fingerprint"], 16)})
