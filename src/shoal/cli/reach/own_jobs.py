"""Jobs of the home and of a fleet whose servers this machine reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shoal.cli.output import write_data, write_warc
from shoal.cli.places import Places
from shoal.cli.reach import Listed, Record
from shoal.cli.session import Session
from shoal.jobs.data import archive_chunks
from shoal.jobs.overview import Overview, overview
from shoal.jobs.place import Standing
from shoal.jobs.revive import revive
from shoal.store.items import item_table, list_items, list_rejects
from shoal.store.jobs import Job, find_job, list_jobs, load_job
from shoal.store.records import Where, list_dead, list_pages
from shoal.urls.exclusions import Exclusions, read_exclusions

if TYPE_CHECKING:
    from shoal.jobs.explain import Explanation
    from shoal.jobs.quality import Quality
    from shoal.store.diff import Difference
    from shoal.store.hosts import Said

# What is slow to load, and a single command needs, is imported by it alone: they start in a few tenths of a second.


class OwnJob:
    def __init__(self, session: Session, places: Places, name: str) -> None:
        self._session = session
        self.place, self.job = places.find(name)

    def standing(self) -> Standing:
        return self._session.run(self.place.standing(load_job(self.place.store, self.job.id)))

    def overview(self) -> Overview:
        return self._session.run(overview(self.place, self.job.id))

    def quality(self) -> Quality:
        from shoal.jobs.quality import job_quality

        return job_quality(self.place.store, load_job(self.place.store, self.job.id))

    def pages(self, where: Where) -> Iterator[Record]:
        return list_pages(self.place.store, self.job.id, where)

    def body(self, fingerprint: str) -> bytes:
        from shoal.jobs.bodies import kept_body

        return kept_body(self.place, self.job.id, fingerprint).body

    def items(self, where: Where, *, provenance: bool) -> Iterator[Record]:
        if provenance:
            yield from list_items(self.place.store, self.job.id, where, provenance=True)
            return
        with item_table(self.place.store, self.job.id, where) as rows:
            yield from rows

    def rejects(self, where: Where) -> Iterator[Record]:
        return list_rejects(self.place.store, self.job.id, where)

    def dead(self, where: Where) -> Iterator[Record]:
        return list_dead(self.place.store, self.job.id, where)

    def retry(self, where: Where) -> int:
        return self._session.run(revive(self.place, self.job, where))

    def explain(self, url: str) -> Explanation:
        from shoal.jobs.explain import explain

        exclusions = self._exclusions()
        return self._session.run(explain(self.place, self.job, url, exclusions))

    def _exclusions(self) -> Exclusions:
        if self.job.fleet:
            from shoal.fleet.exclusions import all_exclusions

            return all_exclusions(self._session.settings, self.place.store)
        return read_exclusions(self._session.settings.exclusions)

    def differences(self, later: str) -> Iterable[Difference]:
        from shoal.store.diff import differences

        return differences(self.place.store, self.job.id, find_job(self.place.store, later).id)

    def write(self, what: str, output: str) -> int:
        return write_data(self.place.store, self.job.id, what, output)

    def write_archive(self, output: str) -> int:
        return write_warc(archive_chunks(self.place.store, self.place.archive, self.job.id), output)

    def pause(self) -> str:
        return self._session.run(self.place.pause(self.job))

    def resume(self) -> str | None:
        return self._session.run(self.place.resume(self.job))

    def change_limits(self, limits: Mapping[str, Any]) -> None:
        self._session.run(self.place.change_limits(self.job, limits))
        self.job = load_job(self.place.store, self.job.id)

    def cancel(self) -> str:
        return self._session.run(self.place.cancel(self.job))


class OwnJobs:
    def __init__(self, session: Session, places: Places) -> None:
        self._session = session
        self._places = places

    def find(self, name: str) -> OwnJob:
        return OwnJob(self._session, self._places, name)

    def newest(self, limit: int) -> list[Listed]:
        return [_listed(self._session.run(self._places.of(job).standing(job))) for job in self._newest(limit)]

    def newest_figures(self, limit: int) -> Iterator[Record]:
        for job in self._newest(limit):
            yield self._session.run(overview(self._places.of(job), job.id)).as_dict()

    def hosts(self, *, robots: bool) -> list[Record]:
        from shoal.jobs.hosts import host_record, host_records

        place = self._places.here
        states = self._session.run(place.frontier.hosts())
        if not robots:
            return [host_record(state, ()) for state in states]
        return host_records(place.store, self._session.settings.user_agent, states)

    def host(self, name: str, said: Said) -> Record:
        from shoal.jobs.hosts import host_records, host_told

        place = self._places.here
        state = self._session.run(host_told(place, name, said))
        return host_records(place.store, self._session.settings.user_agent, [state])[0]

    def _newest(self, limit: int) -> list[Job]:
        return list_jobs(self._places.here.store, limit) if self._places.exist else []


def _listed(stands: Standing) -> Listed:
    job = stands.job
    return Listed(job.id, job.spec.name, stands.state, stands.figures, job.started_at)
