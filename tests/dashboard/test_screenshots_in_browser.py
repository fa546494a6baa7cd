"""The screenshots of a rendered job on its pages."""

from __future__ import annotations

from pathlib import Path

from shoal.practice import Shop, running
from tests.cli.conftest import Here
from tests.dashboard.chromium import Chromium, Tab
from tests.dashboard.test_home_in_browser import serving_home
from tests.dashboard.test_pages_in_browser import check

_LOADED = "[...document.querySelectorAll('main img')].filter((one) => one.complete && one.naturalWidth > 300).length"
_LAZY = "document.querySelectorAll('main img').forEach((one) => { one.loading = 'eager'; })"


def test_a_rendered_page_shows_its_screenshot(tmp_path: Path, browser: Chromium) -> None:
    shoal = Here(tmp_path)
    with running(Shop(hosts=1, categories=1, products=3)) as site:
        urls = [site.url(f"/app/{name}.html") for name in ("list", "late")]
        job = shoal.crawl(*urls, "--scope", "listed", "--render", "always", "--screenshot", "--step", '{"pdf": true}')
    assert job.summary["pages"] == 2
    with serving_home(shoal.home) as link:
        tab = browser.tab()
        tab.open(link)
        tab.follow("main button")
        _check_pages(tab, f"{link.partition('/login')[0]}/jobs/{job.summary['job']}")
        assert tab.problems == []


def _check_pages(tab: Tab, job: str) -> None:
    check(tab, job)
    tab.js(_LAZY)
    tab.until(f"{_LOADED} === 2")
    page = tab.js("document.querySelector('.shots a').href")
    check(tab, page)
    tab.until(f"{_LOADED} === 1")
    about = "(path) => fetch(path).then((one) => [one.status, one.headers.get('content-type')])"
    assert tab.js(f"({about})('{page}/pictures/1')") == [200, "image/png"]
    assert tab.js(f"({about})('{page}/pictures/0')") == [200, "application/pdf"]
    assert tab.js("document.querySelector('a[download$=pdf]').textContent") == "Download the page as PDF"
    assert tab.js(f"({about})('{page}/pictures/2')")[0] == 404
    tab.problems[:] = [said for said in tab.problems if not said.startswith("network: ")]
