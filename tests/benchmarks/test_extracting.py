"""A small run of the extraction."""

from __future__ import annotations

import pytest

from benchmarks.extracting import extract


@pytest.mark.usefixtures("needs_nginx")
def test_extraction_is_measured_by_rules_and_by_a_spider() -> None:
    figures = extract(pages=12, rounds=1)
    assert [run.pages for run in (*figures.of_three, *figures.of_records)] == [12, 12]
