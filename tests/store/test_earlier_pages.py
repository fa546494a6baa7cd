from __future__ import annotations

from dataclasses import replace

from shoal.model import PageContent
from shoal.store.crawl.earlier_pages import earlier_pages
from shoal.store.crawl.save_batch import Batch, save
from shoal.store.store import Store
from tests.store.make import job_with, page


def test_a_page_comes_from_the_first_job_that_has_it(store: Store) -> None:
    content = PageContent("about", None, "what it said", [])
    for job, numbers in (("old", range(-3, 4)), ("older", range(-600, 600))):
        job_with(store, id=job)
        save(store, Batch(job, pages=[replace(page(n, etag=job, content=content), job=job) for n in numbers]))
    found = earlier_pages(store, ["old", "older"], [*range(-300, 300), 5000])
    assert sorted(found) == list(range(-300, 300))
    assert {n: one.job for n, one in found.items() if one.job == "old"} == dict.fromkeys(range(-3, 4), "old")
    assert found[200].etag == "older" and found[200].content() == content
    assert earlier_pages(store, [], [1]) == {}
