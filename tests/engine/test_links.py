"""What an answer leads to: which of a page's links are offered to the frontier, and when a failure is tried again."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.engine.active_job import ActiveJob, JobResources
from shoal.engine.readers.pool import JobReaders, ReaderPool
from shoal.engine.reading.interpret_response import interpret_response
from shoal.engine.reading.spider_callbacks import offer_requests
from shoal.engine.request_result import RequestResult
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.exchange import Exchange, Failure, FailureKind, Headers
from shoal.model import FoundContent, Lease, Outcome, PageRecord, Trail
from shoal.spiders.callback_limits import NO_CRASH_MARK
from shoal.spiders.page import Request
from shoal.urls import Params, target
from shoal.urls.resolve_links import note_offered
from tests.engine.conftest import spec

SEED = "http://site.example/"


def a_work(**wanted: Any) -> ActiveJob:
    return ActiveJob("job", spec(**wanted), 0.0, [SEED], (), JobResources(Fetcher("shoal", AddressGuard())))


@pytest.fixture
def active_job() -> ActiveJob:
    return a_work()


def readers() -> JobReaders:
    return JobReaders(ReaderPool(), "job", NO_CRASH_MARK)


def a_lease(path: str, trail: Trail) -> Lease:
    return Lease(1, "job", target(SEED + path, Params(), "host"), trail, 0, 0, 0.0, 0.0, False, 0)


async def read(active_job: ActiveJob, path: str, *hrefs: str, base: str = "") -> RequestResult:
    lease = a_lease(path, Trail())
    body = (base and f"<base href={base}>") + "".join(f'<a href="{href}">x</a>' for href in hrefs)
    sent, headers = body.encode(), Headers([("Content-Type", "text/html")])
    answer = Exchange(SEED + path, 200, "", headers, b"", sent, sent, "1.1", "", 0, 0)
    return await interpret_response(active_job, lease, answer, None, readers())


def offered(ending: RequestResult) -> list[str]:
    return [each.url.removeprefix(SEED) for offer in ending.offers for each in offer.targets]


async def test_a_link_that_the_frontier_has_is_not_offered_again(active_job: ActiveJob) -> None:
    first = await read(active_job, "", "/a", "/b", "b")
    note_offered(first.links)
    again = await read(active_job, "2", "/b", "/c", "c#part", "/a")
    assert (offered(first), offered(again)) == (["a", "b"], ["c"])


async def test_links_are_kept_as_written_without_fragments_but_against_a_base_as_what_they_lead_to(
    active_job: ActiveJob,
) -> None:
    plain, based = (
        await read(active_job, "", "/a", "b#c", "b#d", "/a", "d" * 40_000),
        await read(active_job, "2", "/a", "b#c", base="/deep/"),
    )
    offer_log = [done.record.content for done in (plain, based) if isinstance(done.record, PageRecord)]
    hrefs = [content.hrefs for content in offer_log if isinstance(content, FoundContent)]
    assert hrefs == [["/a", "b"], [f"{SEED}a", f"{SEED}deep/b"]]


async def test_a_link_whose_offer_may_yet_fail_is_offered_by_every_page(active_job: ActiveJob) -> None:
    assert offered(await read(active_job, "", "/a")) == offered(await read(active_job, "2", "/a")) == ["a"]


async def test_too_deep_links_are_counted_whether_or_not_the_frontier_has_them() -> None:
    active_job = a_work(limits={"depth": 0})
    note_offered(active_job.resolver.resolve(SEED, ["/a"]).links)
    assert (await read(active_job, "", "/a", "/b")).skips == {"too_deep": 2}


async def test_what_a_spider_requests_and_the_frontier_has_is_not_offered_again(active_job: ActiveJob) -> None:
    done = await read(active_job, "")
    offer_requests(active_job, done, [Request(SEED + "a"), Request(SEED + "b", callback="details")])
    assert offered(done) == ["a", "b"]
    note_offered(done.links)
    again = await read(active_job, "2")
    offer_requests(
        active_job, again, [Request(SEED + "a"), Request(SEED + "a", method="POST", body=b"x"), Request(SEED + "c")]
    )
    assert offered(again) == ["c", "a"]


@pytest.mark.parametrize(
    ("kind", "priority"), [(FailureKind.TIMEOUT, -1), (FailureKind.CONNECT, None), (FailureKind.PROTOCOL, None)]
)
async def test_what_timed_out_goes_behind_what_was_not_tried(
    active_job: ActiveJob, kind: FailureKind, priority: int | None
) -> None:
    trail = Trail(depth=3, priority=7, callback="shelf")
    completion = (
        await interpret_response(active_job, a_lease("slow", trail), Failure(kind, "", 45.0), None, readers())
    ).completion
    assert completion.outcome is Outcome.RETRY
    assert completion.trail == (None if priority is None else trail._replace(priority=priority))
