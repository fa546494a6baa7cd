"""The pages of a home in a real Chromium: the link logs in, every page is well, and a dead letter is queued again."""

from __future__ import annotations

import re
import shlex
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from shoal.cli.home_dashboard import PORT, make_home_server
from shoal.settings import Settings
from tests.cli.crawled import crawled
from tests.dashboard.chromium import Chromium
from tests.dashboard.test_pages_in_browser import check, pages_of

CRAWL = ["crawl", "https://example.com/", "--max-pages", "100"]


@contextmanager
def serving_home(home: Path) -> Iterator[str]:
    """The link that logs in."""
    server, link = make_home_server(Settings(home), None)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield link
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_pages_of_a_home_have_no_error_and_pass_axe(tmp_path: Path, browser: Chromium) -> None:
    with crawled(tmp_path) as shop, serving_home(shop.shoal.home) as link:
        tab = browser.tab()
        tab.open(link)
        tab.follow("main button")
        url = link.partition("/login")[0]
        for page in (f"{url}/", f"{url}/fleet", *pages_of(tab, url, shop.summary["job"])):
            check(tab, page)
        tab.open(f"{url}/jobs/{shop.summary['job']}/errors")
        tab.follow("main tbody button")
        assert "queued again" in tab.text and "also those that a later attempt made good" in tab.text
        times = 'document.querySelector(\'[aria-label="Failed attempts"] [data-label="First, last"]\').innerText'
        assert len(re.findall(r"\d\d:\d\d:\d\d", tab.js(times))) == 2
        tab.follow("[aria-label='Failed attempts'] tr:last-child a")
        assert tab.js("location.pathname").endswith("/explain") and "Record" in tab.text
        assert tab.problems == []


def test_an_empty_home_says_how_to_start_a_crawl(tmp_path: Path, browser: Chromium) -> None:
    home = tmp_path / "ann's empty"
    with serving_home(home) as link:
        tab = browser.tab()
        tab.open(link)
        tab.follow("main button")
        commands = [
            shlex.split(text)
            for text in tab.js("[...document.querySelectorAll('.start dt')].map((dt) => dt.innerText)")
        ]
        assert commands == [["shoal", "--home", str(home), *words] for words in (CRAWL, ["demo"])]
        check(tab, f"{link.partition('/login')[0]}/")


def test_a_taken_port_is_left_for_a_free_one_without_a_word(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as held:
        with suppress(OSError):
            # Else another program has it.
            held.enter_context(socket.create_server(("127.0.0.1", PORT)))
        with serving_home(tmp_path) as link:
            assert link.startswith("http://127.0.0.1:")
    assert capfd.readouterr().err == ""
