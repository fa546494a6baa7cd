"""What an answer leads to: which of a page's links are offered to the frontier, and when a failure is tried again."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.engine.aside import Aside, JobReaders
from shoal.engine.callbacks import offer_requests
from shoal.engine.conclusion import conclude
from shoal.engine.ending import Ending
from shoal.engine.work import Work
from shoal.fetch.curl import Fetcher
from shoal.fetch.exchange import Exchange, Failure, FailureKind, Headers
from shoal.fetch.guard import Guard
from shoal.model import Lease, Outcome, PageContent, PageRecord, Trail
from shoal.spiders.page import Request
from shoal.urls import Params, target
from shoal.urls.resolve import note_offered
from tests.engine.conftest import spec

SEED = "http://site.example/"


def a_work(**wanted: Any) -> Work:
    return Work("job", spec(**wanted), 0.0, [SEED], (), Fetcher("shoal", Guard()))


@pytest.fixture
def work() -> Work:
    return a_work()


def readers() -> JobReaders:
    return JobReaders(Aside(), "job", lambda: None)


def a_lease(path: str, trail: Trail) -> Lease:
    return Lease(1, "job", target(SEED + path, Params(), "host"), trail, 0, 0, 0.0, 0.0, False, 0)


async def read(work: Work, path: str, *hrefs: str, base: str = "") -> Ending:
    lease = a_lease(path, Trail())
    body = (base and f"<base href={base}>") + "".join(f'<a href="{href}">x</a>' for href in hrefs)
    sent, headers = body.encode(), Headers([("Content-Type", "text/html")])
    answer = Exchange(SEED + path, 200, "", headers, b"", sent, sent, "1.1", "", 0, 0)
    return await conclude(work, lease, answer, None, readers())


def offered(ending: Ending) -> list[str]:
    return [each.url.removeprefix(SEED) for offer in ending.offers for each in offer.targets]


async def test_a_link_that_the_frontier_has_is_not_offered_again(work: Work) -> None:
    first = await read(work, "", "/a", "/b", "b")
    note_offered(first.links)
    again = await read(work, "2", "/b", "/c", "c#part", "/a")
    assert (offered(first), offered(again)) == (["a", "b"], ["c"])


async def test_links_are_kept_as_they_are_written_but_against_a_base_as_what_they_lead_to(work: Work) -> None:
    plain, based = await read(work, "", "/a", "b#c", "d" * 40_000), await read(work, "2", "/a", "b#c", base="/deep/")
    kept = [done.record.content for done in (plain, based) if isinstance(done.record, PageRecord)]
    hrefs = [content.hrefs for content in kept if isinstance(content, PageContent)]
    assert hrefs == [["/a", "b#c"], [f"{SEED}a", f"{SEED}deep/b"]]


async def test_a_link_whose_offer_may_yet_fail_is_offered_by_every_page(work: Work) -> None:
    assert offered(await read(work, "", "/a")) == offered(await read(work, "2", "/a")) == ["a"]


async def test_too_deep_links_are_counted_whether_or_not_the_frontier_has_them() -> None:
    work = a_work(limits={"depth": 0})
    note_offered(work.resolver.resolve(SEED, ["/a"]).links)
    assert (await read(work, "", "/a", "/b")).skips == {"too_deep": 2}


async def test_what_a_spider_requests_and_the_frontier_has_is_not_offered_again(work: Work) -> None:
    done = await read(work, "")
    offer_requests(work, done, [Request(SEED + "a"), Request(SEED + "b", callback="details")])
    assert offered(done) == ["a", "b"]
    note_offered(done.links)
    again = await read(work, "2")
    offer_requests(
        work, again, [Request(SEED + "a"), Request(SEED + "a", method="POST", body=b"x"), Request(SEED + "c")]
    )
    assert offered(again) == ["c", "a"]


@pytest.mark.parametrize(
    ("kind", "priority"), [(FailureKind.TIMEOUT, -1), (FailureKind.CONNECT, None), (FailureKind.PROTOCOL, None)]
)
async def test_what_timed_out_goes_behind_what_was_not_tried(
    work: Work, kind: FailureKind, priority: int | None
) -> None:
    trail = Trail(depth=3, priority=7, callback="shelf")
    completion = (await conclude(work, a_lease("slow", trail), Failure(kind, "", 45.0), None, readers())).completion
    assert completion.outcome is Outcome.RETRY
    assert completion.trail == (None if priority is None else trail._replace(priority=priority))
