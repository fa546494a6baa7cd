from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.object_store.s3_server import S3Server, running_s3
from tests.start_order import in_start_order

# The same examples in every run, and none is judged by how long it takes: that says how busy the machine is.
settings.register_profile("decided", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("decided")


def pytest_configure() -> None:
    """What a shell starts in the background ignores interrupts, and so would every command that a test interrupts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Searches no garbage among the modules and tests, which all stay: neither while they are loaded nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# Last: pytest itself brings tests together that share a fixture.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = in_start_order(items, lambda item: item.nodeid.split("::")[0], processes)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    with running_s3() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The same server, to which this process's own clients go."""
    for name, value in s3_server.env().items():
        monkeypatch.setenv(name, value)
    return s3_server
