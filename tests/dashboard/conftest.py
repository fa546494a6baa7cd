from __future__ import annotations

from collections.abc import Iterator

import pytest

from shoal.store.fleet.tokens import TokenScope
from tests.browser.installed_browser import installed_browser
from tests.control.live import Live, living
from tests.dashboard.chromium import Chromium, Tab, chromium


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    with chromium(installed_browser()) as browser:
        yield browser


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A fleet with its API, and the practice shop. One for all tests: none may harm it."""
    with living(tmp_path_factory.mktemp("live")) as live:
        yield live


@pytest.fixture
def tab(browser: Chromium, live: Live) -> Iterator[Tab]:
    """An admin is logged in."""
    tab = logged_in(browser.tab(), live.url, live.tokens[TokenScope.ADMIN])
    yield tab
    tab.close()


def logged_in(tab: Tab, url: str, token: str) -> Tab:
    tab.open(f"{url}/login")
    tab.type("input[name=token]", token)
    tab.follow("main button")
    assert tab.path == "/"
    return tab
