from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.practice.process import Running, running
from shoal.practice.shop import Shop
from tests.frontier.redis_server import RedisServer


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    site = Shop(hosts=1, categories=3, products=30, troubled=False)
    with running(site, log=tmp_path_factory.mktemp("shop") / "log") as server:
        yield server


@pytest.fixture
def large_shop(tmp_path: Path) -> Iterator[Running]:
    site = Shop(hosts=1, categories=4, products=100, troubled=False)
    with running(site, log=tmp_path / "shop.log") as server:
        yield server


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    folder = tmp_path / "redis"
    folder.mkdir()
    with RedisServer(folder) as server:
        yield server
