"""The exit code of a run, and why it came back without a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoal.jobs.job_overview import Overview
from shoal.jobs.run_summary import exit_code, summary, why_nothing
from shoal.model import Figures, JobSpec, JobState
from shoal.store.jobs import create_job, load_job
from shoal.store.results.job_figures import Failures, stored_figures
from shoal.store.store import Store


@pytest.fixture
def empty(tmp_path: Path) -> Overview:
    """Of a job that is done and has nothing."""
    with Store.open(tmp_path / "shoal.db") as store:
        create_job(store, "j1", lambda: JobSpec("books"), [], 1.0)
        return Overview(load_job(store, "j1"), JobState.DONE, Figures(), stored_figures(store, "j1"), 0, None)


def ended(empty: Overview, state: JobState, pages: int = 0, **stored: Any) -> Overview:
    spec = replace(empty.job.spec, error_on_limit=stored.pop("error_on_limit", False))
    frontier = Figures(pages=pages, dropped=stored.pop("dropped", {}))
    job = replace(empty.job, spec=spec)
    return replace(empty, job=job, state=state, frontier=frontier, stored=replace(empty.stored, **stored))


UNANSWERED = Failures("timeout", None, "localhost:8000", 1, "https://localhost:8000/: robots.txt: timed out")
REFUSED = Failures("http", 403, "a.example", 3, "https://a.example/")


@pytest.mark.parametrize(
    ("state", "about", "code"),
    [
        (JobState.DONE, {"pages": 3}, 0),
        (JobState.DONE, {"pages": 3, "by_status": {"200": 2, "403": 1}}, 0),
        (JobState.CANCELLED, {}, 0),
        (JobState.FAILED, {"pages": 3}, 3),
        (JobState.FAILED, {}, 4),
        (JobState.LIMITED, {}, 4),
        (JobState.LIMITED, {"pages": 3}, 0),
        (JobState.LIMITED, {"pages": 3, "error_on_limit": True}, 6),
        (JobState.DONE, {"pages": 3, "by_status": {"403": 3}}, 7),
        (JobState.FAILED, {"failures": [REFUSED]}, 7),
        (JobState.INTERRUPTED, {"failures": [REFUSED]}, 130),
    ],
)
def test_the_exit_code_tells_how_a_job_ended(
    empty: Overview, state: JobState, about: dict[str, Any], code: int
) -> None:
    assert exit_code(ended(empty, state, **about)) == code


@pytest.mark.parametrize("kind", ["certificate", "client_certificate"])
def test_a_host_with_a_certificate_is_not_taken_for_one_that_speaks_plain_http(empty: Overview, kind: str) -> None:
    failed = ended(empty, JobState.FAILED, failures=[replace(UNANSWERED, kind=kind)])
    assert why_nothing(failed) == "no page could be fetched"


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"dropped": {"robots": 1}}, "--ignore-robots"),
        ({"dropped": {"operator": 1}}, "the setting exclusions"),
        ({"dropped": {"address_refused": 1}}, "private or reserved"),
        ({"failures": [REFUSED]}, "every response was a refusal"),
        ({"failures": [replace(REFUSED, kind="callback", status=200)]}, "the spider failed"),
        ({"failures": [replace(REFUSED, kind="connect", status=None)]}, "no page could be fetched"),
        ({"failures": [UNANSWERED]}, "fetched; if localhost:8000 speaks plain http, write http://localhost:8000/"),
        ({"failures": [replace(UNANSWERED, sample="http://localhost:8000/")]}, "no page could be fetched"),
        ({}, "no page could be fetched"),
    ],
)
def test_why_there_is_no_page_is_told_with_the_way_out(empty: Overview, about: Mapping[str, Any], words: str) -> None:
    assert words in why_nothing(ended(empty, JobState.FAILED, **about))


def test_a_job_that_took_no_time_has_no_rate(empty: Overview) -> None:
    assert summary(empty)["pages_per_second"] == 0
    assert (
        summary(replace(empty, job=replace(empty.job, seconds=2.0), frontier=Figures(pages=5)))["pages_per_second"]
        == 2.5
    )
