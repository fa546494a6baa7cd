from __future__ import annotations

import time

import pytest

from shoal.jobs.job_id import new_job_id


def test_jobs_of_the_same_second_have_different_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.5)
    names = [new_job_id() for _ in range(20)]
    assert len(set(names)) == 20
    assert {(len(name), name[:6]) for name in names} == {(11, names[0][:6])}


def test_later_jobs_sort_after_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for now in (1_800_000_000.0, 1_800_000_001.0, 1_800_000_032.0, 1_900_000_000.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        names.append(new_job_id())
    assert names == sorted(names)
