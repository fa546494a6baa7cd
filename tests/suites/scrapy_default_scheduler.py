"""A plugin of pytest: crawls of Scrapy's own tests have Shoal's scheduler and filter, unless they name others.

Each test has a home of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scrapy.settings import default_settings

default_settings.SCHEDULER = "shoal.scrapy.Scheduler"
default_settings.DUPEFILTER_CLASS = "shoal.scrapy.DupeFilter"


@pytest.fixture(autouse=True)
def home_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path_factory.mktemp("home")))
    yield
