"""A small run of the benchmark of sinks, buckets and datasets."""

from __future__ import annotations

import pytest

from benchmarks.data_out import data_out


@pytest.mark.usefixtures("needs_nginx")
def test_sinks_buckets_and_datasets_are_measured() -> None:
    figures = data_out(pages=6, dataset_items=360, rounds=1, pairs=1)
    assert len(figures.sink_us_per_item) == len(figures.bucket_ms_per_page) == 1
    assert figures.dataset[0].peak_bytes > 0
