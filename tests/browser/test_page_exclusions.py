"""What the operator excludes is not requested by a rendered page either, as the site sees it."""

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
PAGE = b"""<link rel=stylesheet href="/out/style.css"><script src="/out/script.js"></script>
<script src="/in/script.js"></script><iframe src="/out/frame"></iframe><p id=seen></p><script>
Promise.allSettled(["/in/call", "/out/call", "/in/moved"].map((url) => fetch(url))).then((all) => {
  seen.textContent = all.map((each) => each.status).join(" ");
});
</script>"""
MOVED = answer(status="302 Found", headers=("Location: /out/moved",))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site() -> AsyncIterator[Site]:
    page = answer(PAGE, headers=("Content-Type: text/html",))
    async with serving(Site(routes={"/": page, "/in/moved": MOVED}, otherwise=answer(b"{}"))) as site:
        yield site


async def rendered(site: Site, home: Path) -> tuple[str, RenderedPage]:
    site.asked.clear()
    pages: list[Page] = []

    @spider(
        site.url + "/", rate=0, allow_private=True, ignore_robots=True, render="always", wait_for="#seen:not(:empty)"
    )
    def calling(page: Page) -> None:
        pages.append(page)

    await asyncio.to_thread(calling.run, home)
    assert pages[0].rendered is not None
    return pages[0].css("#seen")[0].text, pages[0].rendered


async def test_no_request_of_a_page_goes_to_what_the_operator_excludes(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "excluded.txt").write_text(f"{site.url}/out/\n")
    monkeypatch.setenv("SHOAL_EXCLUSIONS", str(tmp_path / "excluded.txt"))
    text, page = await rendered(site, tmp_path / "home")
    assert text == "fulfilled rejected rejected"
    assert sorted(asked.path for asked in site.asked) == ["/", "/in/call", "/in/moved", "/in/script.js"]
    refused = {url.removeprefix(site.url) for url, why in page.failed_requests if "the operator excludes" in why}
    assert refused == {"/out/style.css", "/out/script.js", "/out/frame", "/out/call", "/out/moved"}
