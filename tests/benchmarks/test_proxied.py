"""A small run of the benchmark of proxies."""

from __future__ import annotations

import pytest

from benchmarks.proxied import proxied


@pytest.mark.usefixtures("needs_nginx")
def test_a_pool_is_measured_alone_and_in_a_crawl() -> None:
    figures = proxied(pages=12, rounds=1)
    assert [run.pages for run in (*figures.one, *figures.many)] == [12, 12]
    assert figures.failed_share[0] < 0.02 and figures.choice_us[0] > 0 and figures.cpu_ratios[0] > 0
