"""Uploaded Scrapy projects and the jobs of scrapyd's API, on both databases."""

from __future__ import annotations

import pytest

from shoal.model import JobSpec, JobState, ScrapyRun
from shoal.store.fleet.scrapy_projects import (
    KEEP_S,
    package_content,
    remove_unused_packages,
    remove_versions,
    save_version,
    uploaded_projects,
    versions_of,
)
from shoal.store.fleet.scrapyd_jobs import (
    count_scrapyd_jobs,
    finished_scrapyd_jobs,
    has_scrapyd_jobs,
    scrapyd_jobs_of_id,
    unfinished_scrapyd_jobs,
)
from shoal.store.job_state import set_state
from shoal.store.jobs import create_job
from shoal.store.store import Store


def schedule(store: Store, id: str, jobid: str, project: str = "news", owner: str | None = None) -> None:
    run = ScrapyRun("package:0", {}, {}, name=project, version="1", jobid=jobid)
    spec = JobSpec("daily", scrapy="daily", scrapy_run=run)
    create_job(store, id, lambda: spec, [], float(id[1:]), fleet=True, owner=owner)


def test_a_package_is_kept_while_a_version_has_it(store: Store) -> None:
    save_version(store, "news", "1", b"one\0", ["daily"], 1.0)
    save_version(store, "news", "2", b"one\0", ["daily"], 2.0)
    save_version(store, "shop", "1", b"two", [], 3.0)
    assert uploaded_projects(store) == ["news", "shop"]
    first, second = versions_of(store, "news")
    assert (first.version, second.version, first.spiders) == ("1", "2", ("daily",))
    assert first.package == second.package and package_content(store, first.package) == b"one\0"
    assert remove_versions(store, "news", "1", 4.0) and not remove_versions(store, "news", "1", 4.0)
    remove_unused_packages(store, 10 * KEEP_S)
    assert package_content(store, first.package) == b"one\0"
    assert remove_versions(store, "news", None, 5.0) and not remove_versions(store, "news", None, 5.0)
    remove_unused_packages(store, 5.0 + KEEP_S)
    assert package_content(store, first.package) == b"one\0"
    # Uploaded once more before it is removed.
    save_version(store, "news", "3", b"one\0", ["daily"], 6.0)
    remove_unused_packages(store, 10 * KEEP_S)
    assert package_content(store, first.package) == b"one\0"
    remove_versions(store, "news", None, 7.0)
    remove_unused_packages(store, 10 * KEEP_S)
    assert package_content(store, first.package) is None and uploaded_projects(store) == ["shop"]


def test_jobs_are_counted_and_listed_by_how_far_they_are(store: Store) -> None:
    for number in range(1, 6):
        schedule(store, f"j{number}", f"id{number}", owner="ann" if number == 5 else None)
    schedule(store, "j6", "id1", "shop")
    create_job(store, "j7", lambda: JobSpec("other"), [], 7.0, fleet=True)
    set_state(store, "j2", JobState.RUNNING, 20.0)
    for id, at in (("j3", 30.0), ("j4", 31.0)):
        set_state(store, id, JobState.RUNNING, at)
        set_state(store, id, JobState.DONE, at + 1)
    set_state(store, "j1", JobState.CANCELLED, 40.0)
    assert count_scrapyd_jobs(store, None) == (2, 1, 2) and count_scrapyd_jobs(store, "ann") == (1, 0, 0)
    assert [job.id for job in unfinished_scrapyd_jobs(store, None)] == ["j2", "j5", "j6"]
    assert [job.id for job in unfinished_scrapyd_jobs(store, None, "shop")] == ["j6"]
    assert [job.id for job in finished_scrapyd_jobs(store, None, 9)] == ["j4", "j3"]
    assert [job.id for job in finished_scrapyd_jobs(store, None, 1, "news")] == ["j4"]
    assert [job.id for job in scrapyd_jobs_of_id(store, None, "id1")] == ["j6"]
    assert scrapyd_jobs_of_id(store, "ann", "id2") == [] == scrapyd_jobs_of_id(store, None, "id1", "news")
    assert has_scrapyd_jobs(store, None, "news") and not has_scrapyd_jobs(store, "ann", "shop")


@pytest.mark.parametrize("text", ["\0", "\ud800", "a" * 10_000, "%", "'"])
def test_odd_names_are_stored_or_found_nowhere(store: Store, text: str) -> None:
    save_version(store, text, text, b"", [text], 1.0)
    assert len(versions_of(store, text)) == 1
    schedule(store, "j1", text, text)
    assert len(scrapyd_jobs_of_id(store, None, text, text)) == 1
