"""What every frontier promises of assets: they count apart from pages, and have a limit of their own."""

from __future__ import annotations

import pytest

from shoal.frontier.contract import Ended
from shoal.model import ASSET, Outcome, Trail
from tests.frontier.conftest import Bench, names, target, urls

OF_PAGE = Trail(1, callback=ASSET)


def pictures(host: str, n: int) -> list[str]:
    return [f"http://{host}/{place}.png" for place in range(n)]


async def test_assets_need_no_permit_of_a_page_and_come_first(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=2)
    await bench.offer(*urls("a", 5))
    pages = await bench.lease(1)
    await bench.offer(*pictures("a", 3), trail=OF_PAGE)
    await bench.offer(*pictures("b", 2), trail=OF_PAGE)
    assert names(await bench.lease(1)) == ["http://a/0.png"]
    pages += [lease for lease in await bench.lease(100) if not lease.trail.is_asset]
    assert len(pages) == 2
    await bench.fetch(pages)
    assert await bench.frontier.idle_reason("job") is None
    figures = await bench.frontier.figures("job")
    assert (figures.pages, figures.assets, figures.leased, figures.queued) == (2, 0, 5, 3)


async def test_a_job_at_its_page_limit_ends_after_its_assets(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=1)
    await bench.offer(*urls("a", 5))
    await bench.fetch(await bench.lease(100))
    await bench.offer(*pictures("a", 2), *pictures("b", 2), trail=OF_PAGE)
    assert await bench.frontier.next_ready_in() == 0.0
    assets = await bench.lease(100)
    assert sorted(names(assets)) == sorted([*pictures("a", 2), *pictures("b", 2)])
    await bench.land(assets)
    await bench.complete(assets[1:])
    await bench.complete(assets[:1], Outcome.RETRY, delay_s=30.0)
    # The retry needs no permit either.
    assert await bench.frontier.idle_reason("job") is None
    assert await bench.lease() == []
    assert await bench.frontier.next_ready_in() == pytest.approx(30)
    bench.clock.advance(30)
    again = await bench.lease()
    assert names(again) == names(assets[:1])
    await bench.fetch(again)
    assert await bench.frontier.idle_reason("job") == "pages"
    figures = await bench.frontier.figures("job")
    assert (figures.pages, figures.assets) == (1, 4)
    await bench.assert_balanced()


async def test_limits_of_assets_are_exact(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, assets=3)
    await bench.offer(*pictures("a", 4), *pictures("b", 4), trail=OF_PAGE)
    assets = await bench.lease(100)
    assert len(assets) == 3
    await bench.offer(*urls("a", 1), *urls("c", 1))
    pages = await bench.lease(100)
    assert sorted(names(pages)) == ["http://a/0", "http://c/0"]
    await bench.fetch([*assets, *pages])
    assert await bench.lease(100) == []
    assert await bench.frontier.next_ready_in() is None
    assert await bench.frontier.idle_reason("job") == "assets"
    # A page at a host where assets wait for a permit is found, and so are all after the limit was raised.
    await bench.offer(*urls("b", 1))
    pages = await bench.lease(100)
    await bench.fetch(pages)
    assert names(pages) == ["http://b/0"]
    await bench.job(gap_s=0, per_host=100, assets=5)
    assert len(await bench.lease(100)) == 2
    await bench.assert_balanced()


async def test_a_permit_of_an_asset_that_comes_back_serves_any_host(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, assets=1)
    await bench.offer("http://a/0.png", "http://b/0.png", trail=OF_PAGE)
    (first,) = await bench.lease(100)
    assert await bench.lease(100) == []
    await bench.land([first])
    await bench.complete([first], Outcome.DEAD)
    (second,) = await bench.lease(100)
    assert second.target.host != first.target.host
    await bench.land([second])
    await bench.frontier.release(bench.caller.next(), [second.token])
    assert names(await bench.lease(100)) == names([second])


async def test_an_expired_lease_of_an_asset_keeps_its_permit(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=1, assets=1)
    await bench.offer(*pictures("a", 3), trail=OF_PAGE)
    leases = await bench.lease(100)
    assert len(leases) == 1
    bench.clock.advance(61)
    await bench.restart()
    await bench.frontier.reap(all_leases=True)
    again = await bench.lease(100)
    assert names(again) == names(leases)
    await bench.fetch(again)
    assert (await bench.frontier.figures("job")).assets == 1
    assert await bench.lease(100) == []
    assert await bench.frontier.idle_reason("job") == "assets"
    await bench.assert_balanced()


async def test_assets_do_not_count_as_pages_of_their_host(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages_per_host=1)
    await bench.offer(*urls("a", 3))
    await bench.fetch(await bench.lease(100))
    assert await bench.lease(100) == []
    await bench.offer(*pictures("a", 3), trail=OF_PAGE)
    assets = await bench.lease(100)
    assert len(assets) == 3
    await bench.fetch(assets)
    assert await bench.frontier.idle_reason("job") == "pages_per_host"


async def test_a_lost_frontier_hears_of_assets_that_ended(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100)
    await bench.lose()
    await bench.job(gap_s=0, per_host=100, pages=2, assets=2)
    page, asset = target("http://a/0"), target("http://a/0.png")
    ended = [
        Ended(page.fingerprint, "a", Outcome.DONE, 10),
        Ended(asset.fingerprint, "a", Outcome.DONE, 10, is_asset=True),
    ]
    assert await bench.frontier.recall(bench.caller.next(), "job", ended) == 2
    await bench.offer(*urls("a", 5))
    await bench.offer(*pictures("a", 5), trail=OF_PAGE)
    assert sorted(names(await bench.lease(100))) == ["http://a/1", "http://a/1.png"]
    figures = await bench.frontier.figures("job")
    assert (figures.pages, figures.assets) == (1, 1)
    await bench.assert_balanced()


async def test_a_dead_asset_that_is_revived_stays_one(bench: Bench) -> None:
    await bench.job(gap_s=0, per_host=100, pages=1, assets=1)
    await bench.offer("http://a/0.png", trail=OF_PAGE)
    leases = await bench.lease()
    await bench.land(leases)
    await bench.complete(leases, Outcome.DEAD)
    assert await bench.frontier.revive(bench.caller.next(), "job", [(leases[0].target, OF_PAGE)]) == 1
    await bench.offer(*urls("a", 1))
    again = await bench.lease()
    assert sorted(names(again)) == ["http://a/0", "http://a/0.png"]
    await bench.fetch(again)
    assert (await bench.frontier.figures("job")).assets == 1
    await bench.assert_balanced()
