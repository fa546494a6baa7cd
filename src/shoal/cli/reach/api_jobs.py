"""Jobs behind an API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from shoal import __version__
from shoal.cli.output import write_exported, write_warc
from shoal.cli.reach import Listed, ReachedJob, Record
from shoal.cli.reach.answers import translated
from shoal.client import Client
from shoal.client import Job as Told
from shoal.control.models.whole import ExplanationShown, JobShown, OverviewShown, QualityShown
from shoal.errors import UnknownHost, UnknownJob, UsageError
from shoal.jobs.explain import Explanation
from shoal.jobs.overview import Overview
from shoal.jobs.place import Standing
from shoal.model import Figures, JobState
from shoal.store import tables
from shoal.store.diff import Difference, ItemDifference, PageDifference
from shoal.store.hosts import Said
from shoal.store.jobs import Job
from shoal.store.records import Where, conditions

if TYPE_CHECKING:
    from shoal.jobs.quality import Quality

M = TypeVar("M", bound=BaseModel)


class ApiJob:
    def __init__(self, client: Client, job: Job) -> None:
        self._client = client
        self.job = job

    def standing(self) -> Standing:
        with translated(UnknownJob):
            told = self._client.job(self.job.id)
        return Standing(self.job, JobState(told["state"]), _figures(told), told["limiting"])

    def overview(self) -> Overview:
        with translated(UnknownJob):
            return _read_as(OverviewShown, self._client.overview(self.job.id)).root

    def quality(self) -> Quality:
        told = _read_as(QualityShown, self._client.quality(self.job.id))
        return told.now, told.before

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

    def dead(self, where: Where) -> Iterator[Record]:
        return cast(Iterator[Record], self._client.dead(self.job.id, **cast(Any, self._checked(where))))

    def retry(self, where: Where) -> int:
        return self._client.retry(self.job.id, **self._checked(where))

    def explain(self, url: str) -> Explanation:
        return _read_as(ExplanationShown, self._client.explanation(self.job.id, url)).root

    def differences(self, later: str) -> Iterable[Difference]:
        return map(_difference, self._client.diff(self.job.id, later))

    def write(self, what: str, output: str) -> int | None:
        def exported(format: str) -> Iterator[bytes]:
            return self._client.exported(self.job.id, format, what=what)

        return write_exported(exported, output)

    def write_archive(self, output: str) -> int:
        return write_warc(self._client.archive(self.job.id), output)

    def pause(self) -> str:
        return self._client.pause(self.job.id)

    def resume(self) -> str:
        return self._client.resume(self.job.id)

    def change_limits(self, limits: Mapping[str, Any]) -> None:
        self._client.change(self.job.id, limits=dict(limits))

    def cancel(self) -> str:
        return self._client.cancel(self.job.id)

    def _checked(self, where: Where) -> dict[str, Any]:
        """Raises UsageError here, in the words of a command and not of a call, for a filter that cannot work."""
        conditions(tables.dead, self.job.id, where)
        return {name: int(value) if name == "status" else value for name, value in where.items()}


class ApiJobs:
    def __init__(self, client: Client) -> None:
        self._client = client

    def find(self, name: str) -> ReachedJob:
        with translated(UnknownJob):
            return ApiJob(self._client, _read_as(JobShown, self._client.spec(name)).root)

    def newest(self, limit: int) -> list[Listed]:
        return [_listed(told) for told in self._client.jobs(limit=limit)]

    def newest_figures(self, limit: int) -> Iterator[Record]:
        return cast(Iterator[Record], self._client.jobs(limit=limit))

    def hosts(self, *, robots: bool) -> list[Record]:
        return [dict(host) for host in self._client.hosts()]

    def host(self, name: str, said: Said) -> Record:
        with translated(UnknownHost):
            return dict(self._client.change_host(name, **said) if said else self._client.host(name))


def _read_as(model: type[M], told: Mapping[str, Any]) -> M:
    """Raises UsageError for what is not told as this version of Shoal tells it."""
    try:
        return model.model_validate(told)
    except ValidationError as error:
        raise UsageError(
            f"the API is of another version than this shoal, which is {__version__}, and cannot be understood "
            f"({_first(error)}): install its version here"
        ) from error


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


def _figures(told: Told) -> Figures:
    names = ("found", "queued", "leased", "pages", "redirects", "dead", "dropped")
    return Figures(**{name: told[name] for name in names})  # type: ignore[literal-required]


def _listed(told: Told) -> Listed:
    started_at = told["started_at"]
    at = None if started_at is None else datetime.fromisoformat(started_at).timestamp()
    return Listed(told["id"], told["name"], JobState(told["state"]), _figures(told), at)


def _difference(told: Mapping[str, Any]) -> Difference:
    fields = {name: value for name, value in told.items() if name != "kind"}
    if told["kind"] == "item":
        return ItemDifference(**fields)
    return PageDifference(**{**fields, "fingerprint": int(told["fingerprint"], 16)})
