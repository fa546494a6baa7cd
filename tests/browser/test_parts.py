"""The parts of rendering that need no browser."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from shoal.browser.asset_cache import AssetCache, fresh_for_s
from shoal.browser.browser_cookies import changes, take_cookies, to_browser
from shoal.browser.devtools import DevTools
from shoal.browser.find_browser import BrowserMissing, find_browser
from shoal.browser.shadow_roots import flatten_shadow_roots
from shoal.fetch.cookie_jar import CookieJar
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Headers


def test_the_named_browser_is_taken_or_refused(tmp_path: Path) -> None:
    program = tmp_path / "mine"
    program.write_text("")
    program.chmod(0o755)
    assert find_browser(str(program)) == program
    with pytest.raises(BrowserMissing, match="apt-get install chromium-headless-shell"):
        find_browser(str(tmp_path / "other"))


def test_shadow_roots_become_elements_and_other_templates_stay() -> None:
    html = (
        '<x-a><template shadowrootmode="open"><template><p>kept</p></template><x-b><template shadowrootmode="closed" '
        'title="a > b">deep</template></x-b></template></x-a><script>"</template>"</script><!-- </template> -->'
    )
    assert flatten_shadow_roots(html) == (
        "<x-a><shadow-root><template><p>kept</p></template><x-b><shadow-root>deep</shadow-root></x-b></shadow-root>"
        '</x-a><script>"</template>"</script><!-- </template> -->'
    )


def test_assets_are_kept_as_long_as_they_say() -> None:
    now = 0.0
    cache = AssetCache(lambda: now)
    cache.keep("/a.js", "", 200, Headers([("Cache-Control", "max-age=60")]), b"code")
    assert cache.get("/a.js", "") is not None
    assert cache.get("/a.js", "https://elsewhere.example") is None
    now = 61.0
    assert cache.get("/a.js", "") is None


@pytest.mark.parametrize(
    ("status", "header", "fresh_s"),
    [
        (200, ("X", "y"), 600.0),
        (404, ("X", "y"), 0.0),
        (200, ("Cache-Control", "private, max-age=5"), 5.0),
        (200, ("Cache-Control", "no-store"), 0.0),
        (200, ("Set-Cookie", "a=b"), 0.0),
        (200, ("Vary", "*"), 0.0),
    ],
)
def test_an_answer_says_whether_it_may_be_kept(status: int, header: tuple[str, str], fresh_s: float) -> None:
    assert fresh_for_s(status, Headers([header])) == fresh_s


def test_cookies_keep_what_they_say_on_both_ways() -> None:
    lines = [
        "#HttpOnly_.shop.example\tTRUE\t/\tTRUE\t2000000000\tsid\t1",
        "shop.example\tFALSE\t/app\tFALSE\t0\tgone\t2",
    ]
    cookies = [{"expires": -1, **cookie} for cookie in to_browser(lines)]
    assert changes(lines, cookies) == []
    changed = {**cookies[0], "value": "2"}
    assert changes(lines, [changed]) == [
        "#HttpOnly_.shop.example\tTRUE\t/\tTRUE\t2000000000\tsid\t2",
        "shop.example\tFALSE\t/app\tFALSE\t1\tgone\t",
    ]
    assert changes([], [{**changed, "value": "a\tb"}, {**changed, "partitionKey": {}}]) == []


async def test_cookies_that_a_browser_does_not_give_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    ours, browsers = socket.socketpair()
    devtools, jar = DevTools(), CookieJar()
    await devtools.connect(ours)
    browsers.close()
    await take_cookies(devtools.browser, "context", Fetch("https://shop.example/in", jar=jar), [], lambda: 0.0)
    assert caplog.text.count("without the cookies that https://shop.example/in set: the browser has ended") == 1
    assert jar.lines_for("shop.example") == []
