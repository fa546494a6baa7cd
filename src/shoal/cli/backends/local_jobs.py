"""The jobs backend that uses the databases of the home, or of a fleet whose servers this machine can reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shoal.cli.backends import ListedJob, Record
from shoal.cli.deployments import Deployments
from shoal.cli.output_file import OutputFile
from shoal.cli.session import Session
from shoal.jobs.deployment import JobStatus
from shoal.jobs.job_overview import Overview, overview
from shoal.model.options import to_fields
from shoal.store.jobs import Job, find_job, list_jobs, load_job
from shoal.urls.exclusions import Exclusions, read_exclusions

if TYPE_CHECKING:
    from pathlib import Path

    from shoal.jobs.explain import Explanation
    from shoal.jobs.export_files import WrittenFiles
    from shoal.jobs.job_quality import Quality
    from shoal.jobs.mirror import Mirrored
    from shoal.object_store.contract import ObjectStore
    from shoal.store.fleet.host_overrides import StoredOverride
    from shoal.store.results.crawl_shape import CrawlShape
    from shoal.store.results.job_diff import Difference
    from shoal.store.results.listings import Where
    from shoal.store.results.time_series import Point

# A slow module that only one command needs is imported inside a method, so that commands start in tenths of a second.


class LocalJob:
    def __init__(self, session: Session, places: Deployments, name: str) -> None:
        self._session = session
        self.place, self.job = places.find(name)

    def job_status(self) -> JobStatus:
        return self._session.run(self.place.job_status(load_job(self.place.store, self.job.id)))

    def overview(self) -> Overview:
        return self._session.run(overview(self.place, self.job.id))

    def quality(self) -> Quality:
        from shoal.jobs.job_quality import job_quality

        return job_quality(self.place.store, load_job(self.place.store, self.job.id))

    def series(self) -> list[Point]:
        from shoal.jobs.job_series import job_series

        return job_series(self.place.store, load_job(self.place.store, self.job.id))

    def shape(self) -> CrawlShape:
        from shoal.store.results.crawl_shape import crawl_shape

        return crawl_shape(self.place.store, self.job.id)

    def dead_groups(self) -> list[Record]:
        from shoal.store.results.pagination import GROUPED_BY, dead_groups

        return dead_groups(self.place.store, self.job.id, {}, GROUPED_BY)

    def pages(self, where: Where) -> Iterator[Record]:
        from shoal.store.results.listings import list_pages

        return list_pages(self.place.store, self.job.id, where)

    def body(self, fingerprint: str) -> bytes:
        from shoal.jobs.archived_bodies import archived_body

        return archived_body(self.place, self.job.id, fingerprint).body

    def items(self, where: Where, *, provenance: bool) -> Iterator[Record]:
        from shoal.store.results.items import item_table, list_items

        if provenance:
            yield from list_items(self.place.store, self.job.id, where, provenance=True)
            return
        with item_table(self.place.store, self.job.id, where) as rows:
            yield from rows

    def rejects(self, where: Where) -> Iterator[Record]:
        from shoal.store.results.items import list_rejects

        return list_rejects(self.place.store, self.job.id, where)

    def refused(self, where: Where) -> Iterator[Record]:
        from shoal.store.crawl.sink_state import list_refused

        return list_refused(self.place.store, self.job.id, where)

    def redeliver(self) -> int:
        from shoal.cli.deliver_rest import deliver_rest
        from shoal.store.crawl.sink_state import retry_refused

        n = retry_refused(self.place.store, self.job.id)
        deliver_rest(self._session, self.place, self.job)
        return n

    def dead(self, where: Where) -> Iterator[Record]:
        from shoal.store.results.listings import list_dead

        return list_dead(self.place.store, self.job.id, where)

    def retry(self, where: Where) -> int:
        from shoal.jobs.revive_dead_letters import revive

        return self._session.run(revive(self.place, self.job, where))

    def explain(self, url: str) -> Explanation:
        from shoal.jobs.explain import explain

        exclusions = self._exclusions()
        return self._session.run(explain(self.place, self.job, url, exclusions))

    def _exclusions(self) -> Exclusions:
        if self.job.fleet:
            from shoal.fleet.effective_exclusions import all_exclusions

            return all_exclusions(self._session.settings, self.place.store)
        return read_exclusions(self._session.settings.exclusions)

    def differences(self, later: str) -> Iterable[Difference]:
        from shoal.store.results.job_diff import differences

        return differences(self.place.store, self.job.id, find_job(self.place.store, later).id)

    def write(self, what: str, output: OutputFile) -> int:
        from shoal.cli.write_data_file import write_data

        return write_data(self.place.store, self.job.id, what, output)

    def write_archive(self, output: str) -> int:
        from shoal.cli.write_data_file import write_warc
        from shoal.jobs.job_data import archive_chunks

        return write_warc(archive_chunks(self.place.store, self.place.archive, self.job.id), output)

    def write_files(self, objects: ObjectStore) -> WrittenFiles:
        from shoal.jobs.export_files import job_files, write_files

        return write_files(job_files(self.place, self.job), objects)

    def write_mirror(self, folder: Path, overwrite: bool) -> Mirrored:
        # Imported here: no other command parses pages.
        from shoal.jobs.mirror import write_mirror

        return write_mirror(self.place, self.job, folder, overwrite)

    def pause(self) -> str:
        return self._session.run(self.place.pause(self.job))

    def resume(self) -> str | None:
        return self._session.run(self.place.resume(self.job))

    def change(self, options: Mapping[str, Any]) -> None:
        self._session.run(self.place.change(self.job, to_fields(options)))
        self.job = load_job(self.place.store, self.job.id)

    def cancel(self) -> str:
        return self._session.run(self.place.cancel(self.job))

    def remove(self) -> None:
        self._session.run(self.place.remove(self.job))


class LocalJobs:
    def __init__(self, session: Session, places: Deployments) -> None:
        self._session = session
        self._places = places

    def find(self, name: str) -> LocalJob:
        return LocalJob(self._session, self._places, name)

    def newest(self, limit: int) -> list[ListedJob]:
        return [_listed(self._session.run(self._places.of(job).job_status(job))) for job in self._newest(limit)]

    def newest_figures(self, limit: int) -> Iterator[Record]:
        for job in self._newest(limit):
            seen = self._session.run(overview(self._places.of(job), job.id))
            yield seen.as_dict() | ({"pid": seen.pid} if seen.pid else {})

    def database_bytes(self, job: str) -> int:
        from shoal.store.results.database_size import database_bytes

        return database_bytes(self._places.here.store, job)

    def hosts(self, *, robots: bool) -> list[Record]:
        from shoal.jobs.host_view import host_record, host_records

        place = self._places.here
        states = self._session.run(place.frontier.hosts())
        if not robots:
            return [host_record(state, ()) for state in states]
        return host_records(place.store, self._session.settings.user_agent, states)

    def host(self, name: str, override: StoredOverride) -> Record:
        from shoal.jobs.host_view import change_host, host_records

        place = self._places.here
        state = self._session.run(change_host(place, name, override))
        return host_records(place.store, self._session.settings.user_agent, [state])[0]

    def _newest(self, limit: int) -> list[Job]:
        return list_jobs(self._places.here.store, limit) if self._places.exist else []


def _listed(status: JobStatus) -> ListedJob:
    job = status.job
    return ListedJob(job.id, job.spec.name, status.state, status.figures, job.started_at, job.spec.lane, status.pid)
