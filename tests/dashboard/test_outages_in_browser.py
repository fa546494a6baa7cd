"""A page that is open while its server goes away says so, keeps what it showed, and recovers by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.fleet.fleet import Fleet
from shoal.store.fleet.tokens import TokenScope, add_token, remove_token
from tests.control.live import make_tokens, serving
from tests.dashboard.chromium import Chromium, Tab
from tests.dashboard.conftest import logged_in
from tests.dashboard.relay import Relay, relaying
from tests.fleet.by_hand import FleetShell, fleet_shell
from tests.frontier.redis_server import free_port
from tests.stopped_processes import stopped, with_children

_SAID = "document.getElementById('connection').hidden ? '' : document.getElementById('connection').textContent"

LOST_S = 45.0
"""A request whose answer is lost would wait a minute."""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetShell]:
    with fleet_shell(tmp_path) as fleet:
        yield fleet


def until_said(tab: Tab, words: str) -> None:
    tab.until(f"({_SAID}).includes('{words}')")
    assert "kept-job" in tab.text, "the page keeps what it showed"


def until_recovered(tab: Tab, fleet: FleetShell, name: str) -> None:
    """A job that is submitted now appears."""
    fleet.submit("https://example.com/", "--name", name)
    tab.until_text(name)
    assert tab.js(_SAID) == ""


def test_an_open_page_outlives_the_api_redis_and_its_token(fleet: FleetShell, browser: Chromium) -> None:
    tokens, port = fleet.by_hand(make_tokens), free_port()
    fleet.submit("https://example.com/", "--name", "kept-job")
    with relaying(port) as relay:
        tab = browser.tab()
        tab.hurry(10)
        with serving(fleet.environment, fleet.folder, port) as (_, pid):
            logged_in(tab, relay.url, tokens[TokenScope.ADMIN])
            tab.js("window.isSamePage = true")
            remote = {"SHOAL_API_URL": relay.url, "SHOAL_TOKEN": tokens[TokenScope.ADMIN]}
            _stop_and_go_on(tab, fleet, pid, remote)
            _vanish_and_come_back(tab, fleet, relay, remote)
        until_said(tab, "No answer from")
        _outlives_redis_and_its_token(tab, fleet, port)
    assert [said for said in tab.problems if not said.startswith("network: ")] == []


def _outlives_redis_and_its_token(tab: Tab, fleet: FleetShell, port: int) -> None:
    with serving(fleet.environment, fleet.folder, port):
        until_recovered(tab, fleet, "after-the-api")
        fleet.redis.kill()
        until_said(tab, "Redis")
        fleet.redis.start()
        until_recovered(tab, fleet, "after-redis")
        tab.type("[name=urls]", "https://example.com/typed-before")
        _change_token(tab, fleet)
        assert tab.js("window.isSamePage")
        tab.follow("form[data-copy] button:not([type])")
        tab.until_text("The job is submitted.")


def _stop_and_go_on(tab: Tab, fleet: FleetShell, pid: int, remote: dict[str, str]) -> None:
    """An API that is stopped still accepts connections: the kernel does."""
    with fleet.start("watch", "kept-job", env=remote) as watching:
        assert watching.stderr and "kept-job" in watching.stderr.readline()
        with stopped(with_children(pid)):
            assert f"no answer from {remote['SHOAL_API_URL']} for " in watching.stderr.readline()
            until_said(tab, "No answer from 127.0.0.1:")
            tab.click("form[data-copy] button:not([type])")
            tab.until_text("Not sent: no answer from")
        assert "kept-job" in watching.stderr.readline(), "it continues by itself"
        watching.terminate()
    until_recovered(tab, fleet, "after-the-stop")


def _vanish_and_come_back(tab: Tab, fleet: FleetShell, relay: Relay, remote: dict[str, str]) -> None:
    """What was asked before is never answered."""
    with fleet.start("watch", "kept-job", env=remote) as watching:
        assert watching.stderr and "kept-job" in watching.stderr.readline()
        relay.vanish()
        assert "no answer from" in watching.stderr.readline()
        until_said(tab, "No answer from 127.0.0.1:")
        relay.come_back()
        since = time.monotonic()
        until_recovered(tab, fleet, "after-it-came-back")
        while "no answer from" in (line := watching.stderr.readline()):
            pass
        assert "kept-job" in line and time.monotonic() - since < LOST_S
        watching.terminate()


def _change_token(tab: Tab, fleet: FleetShell) -> None:
    async def removed(opened: Fleet) -> str:
        remove_token(opened.store, f"live-{TokenScope.ADMIN}")
        return add_token(opened.store, "another", TokenScope.ADMIN)

    token = fleet.by_hand(removed)
    until_said(tab, "You are logged out.")
    assert tab.js("document.querySelector('#connection a').getAttribute('href')") == "/login?next=%2F"
    form = f"token={token}&next=/"
    tab.js(f"fetch('/login', {{method: 'POST', body: new URLSearchParams('{form}')}}).then((done) => done.status)")
    until_recovered(tab, fleet, "after-the-login")
