"""The shape of a crawl: every page is counted once in each picture."""

from __future__ import annotations

from shoal.store.crawl.save_batch import Batch, save
from shoal.store.results.crawl_shape import SIZES, CrawlShape, DepthLevel, HostLatency, HostLink, HubPage, crawl_shape
from shoal.store.store import Store
from tests.store.make import JOB, job_with, page, url


def test_pages_are_counted_by_depth_size_host_and_parent(store: Store) -> None:
    job_with(store)
    save(
        store,
        Batch(
            JOB,
            pages=[
                page(1, depth=0, bytes=999, duration_ms=100),
                page(2, parent=1, bytes=SIZES[0], duration_ms=300),
                page(3, parent=1, host="other.test", bytes=SIZES[-1], duration_ms=900),
                page(4, depth=2, parent=3, host="other.test", bytes=SIZES[-1] - 1, duration_ms=100),
                # Its parent was not kept as a page.
                page(5, depth=2, parent=99, duration_ms=50),
            ],
        ),
    )
    assert crawl_shape(store, JOB) == CrawlShape(
        levels=[DepthLevel(0, 1, 1), DepthLevel(1, 2, 1), DepthLevel(2, 2, 0)],
        sizes=[1, 2, 0, 0, 0, 0, 1, 1],
        slowest=[HostLatency("other.test", 2, 500, 900), HostLatency("site.test", 3, 150, 300)],
        hubs=[HubPage(url(1), 2), HubPage(url(3), 1)],
        host_links=[
            HostLink("other.test", "other.test", 1),
            HostLink("site.test", "other.test", 1),
            HostLink("site.test", "site.test", 1),
        ],
    )


def test_a_job_without_pages_has_an_empty_shape(store: Store) -> None:
    job_with(store)
    assert crawl_shape(store, JOB) == CrawlShape([], [0] * (len(SIZES) + 1), [], [], [])
