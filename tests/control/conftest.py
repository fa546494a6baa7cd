"""An API over a fleet that a test plays by hand: a private Redis, SQLite in the home, Flask's own client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.control.calling import Api, api_over, forget_submits
from tests.control.compiled_routes import keep_compiled_routes
from tests.control.eggs import project_files
from tests.control.live import Live, living
from tests.control.scrapyd_calls import Scrapyd
from tests.fleet.by_hand import FleetShell
from tests.frontier.redis_server import RedisServer
from tests.store.new_database import make_home

keep_compiled_routes()


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def fleet(tmp_path: Path, redis: RedisServer) -> FleetShell:
    redis.client.flushall()
    shell = FleetShell(tmp_path, redis)
    make_home(shell.home)
    return shell


@pytest.fixture
def api(fleet: FleetShell) -> Iterator[Api]:
    with api_over(fleet.settings) as api:
        yield api


@pytest.fixture
def shared_api(fleet: FleetShell) -> Iterator[Api]:
    """Every submit token sees and steers all jobs."""
    with api_over(replace(fleet.settings, shared_jobs=True)) as api:
        yield api


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One for all tests: none may harm it."""
    with living(tmp_path_factory.mktemp("live")) as live:
        yield live


@pytest.fixture(autouse=True)
def whole_share(request: pytest.FixtureRequest) -> None:
    if "live" in request.fixturenames:
        forget_submits(request.getfixturevalue("live").fleet.redis)


@pytest.fixture
def declared(tmp_path: Path) -> Path:
    """A project of the operator."""
    folder = tmp_path / "own"
    for name, text in project_files("weekly", package="own").items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "scrapy.cfg").write_text("[settings]\ndefault = own.settings\n")
    return folder


@pytest.fixture
def scrapyd(fleet: FleetShell, declared: Path) -> Iterator[Scrapyd]:
    forget_submits(fleet.redis)
    projects = {"own": str(declared), "afar": "/nowhere/afar"}
    with api_over(replace(fleet.settings, scrapy_uploads=True, scrapy_projects=projects)) as api:
        yield Scrapyd(api)


@pytest.fixture
def news(scrapyd: Scrapyd) -> Scrapyd:
    """With a project as an upload leaves it; listing its spiders anew would take longer than most tests."""
    scrapyd.keep("news", "1.0", "daily", "hourly")
    return scrapyd
