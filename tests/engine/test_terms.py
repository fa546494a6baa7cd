"""What a job asks for becomes terms that a frontier takes, also if it was stored before numbers had bounds."""

from __future__ import annotations

import dataclasses

import pytest

from shoal.engine.job_start import terms_of
from shoal.frontier.validation import check_terms
from shoal.model import JobSpec, Limits, Politeness


@pytest.mark.parametrize("rate", [1e-320, 1e-13, 1e300])
def test_numbers_of_old_jobs_are_brought_within_their_bounds(rate: float) -> None:
    limits = Limits(pages=10**30, bytes=10**40, seconds=1e300, pages_per_host=10**30)
    spec = JobSpec("old", limits=limits, politeness=Politeness(rate=rate, per_host=10**9), priority=-(10**12))
    check_terms(terms_of(spec, 0.0))
    assert terms_of(dataclasses.replace(spec, priority=7), 0.0).priority == 7
