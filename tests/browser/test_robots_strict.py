"""What scripts and frames of a page may request if robots.txt holds for them too, as the sites see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from shoal import Page, spider
from shoal.fetch.rendered_page import RenderedPage
from tests.fetch.site import Site, answer, serving

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("program")]
ROBOTS = answer(b"User-agent: *\nDisallow: /no/\n", headers=("Content-Type: text/plain",))
DATA = answer(b"{}", headers=("Content-Type: application/json", "Access-Control-Allow-Origin: *"))
PAGE = """<p id=seen></p><iframe src="/no/frame"></iframe><script>
const urls = ["/yes/own", "/no/own", "OTHER/yes/call", "OTHER/no/call"];
navigator.sendBeacon("OTHER/no/beacon");
Promise.allSettled(urls.map((url) => fetch(url))).then((all) => {
  seen.textContent = all.map((each) => each.status).join(" ");
});
</script>"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def own() -> AsyncIterator[Site]:
    async with serving(Site(routes={"/robots.txt": ROBOTS}, otherwise=DATA)) as site:
        yield site


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def other() -> AsyncIterator[Site]:
    async with serving(Site(routes={"/robots.txt": ROBOTS}, otherwise=DATA)) as site:
        yield site


async def seen_by_callback(own: Site, other: Site, home: Path, robots_strict: bool) -> tuple[str, RenderedPage]:
    page = PAGE.replace("OTHER", other.url).encode()
    own.routes["/"] = answer(page, headers=("Content-Type: text/html",))
    own.asked.clear()
    other.asked.clear()
    pages: list[Page] = []

    @spider(
        own.url + "/",
        rate=0,
        allow_private=True,
        render="always",
        wait_for="#seen:not(:empty)",
        robots_strict=robots_strict,
    )
    def calling(page: Page) -> None:
        pages.append(page)

    await asyncio.to_thread(calling.run, home)
    assert pages[0].rendered is not None
    return pages[0].css("#seen")[0].text, pages[0].rendered


async def test_what_robots_forbids_is_not_called_on_any_host(own: Site, other: Site, tmp_path: Path) -> None:
    text, page = await seen_by_callback(own, other, tmp_path, robots_strict=True)
    assert text == "fulfilled rejected fulfilled rejected"
    assert sorted(asked.path for asked in own.asked) == ["/", "/robots.txt", "/yes/own"]
    assert sorted(asked.path for asked in other.asked) == ["/robots.txt", "/yes/call"]
    refused = {url for url, why in page.failed_requests if why == "refused by robots.txt"}
    assert refused == {f"{own.url}/no/own", f"{own.url}/no/frame", f"{other.url}/no/call", f"{other.url}/no/beacon"}


async def test_without_the_option_calls_are_not_asked_about(own: Site, other: Site, tmp_path: Path) -> None:
    text, page = await seen_by_callback(own, other, tmp_path, robots_strict=False)
    assert text == "fulfilled fulfilled fulfilled fulfilled" and not page.failed_requests
    assert {"/no/own", "/no/frame"} < {asked.path for asked in own.asked}
    assert "/robots.txt" not in [asked.path for asked in other.asked]
