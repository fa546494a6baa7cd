"""A server whose certificate is not trusted is refused with the reason, by every way in which it is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from celery import Celery

from shoal.errors import Unavailable
from shoal.fleet import slice_queue
from shoal.fleet.celery_config import configuration
from shoal.fleet.wait_for_servers import AT_ONCE
from shoal.frontier.redis import PoolLimits, RedisFrontier
from shoal.model import Lane
from shoal.settings import Settings
from shoal.settings.server_urls import next_database
from tests.cli.conftest import Here
from tests.cli.crawling import until
from tests.control.calling import api_over, problem
from tests.fetch.secure import make_authority
from tests.frontier.redis_server import RedisServer, free_port

REFUSED = "certificate verify failed: self-signed certificate: name the file of the CA that signed it in SHOAL_"


@dataclass
class Secure:
    port: int
    trusted: str
    other: str

    def url(self, query: str, host: str = "127.0.0.1") -> str:
        return f"rediss://{host}:{self.port}/0{query}"

    @property
    def right(self) -> str:
        return self.url(f"?ssl_ca_certs={self.trusted}")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    folder, other = tmp_path_factory.mktemp("redis"), tmp_path_factory.mktemp("other")
    trusted, untrusted = make_authority(folder), make_authority(other)
    port = free_port()
    files = ("--tls-cert-file", trusted.ca_file, "--tls-key-file", str(folder / "key.pem"))
    options = ("--tls-port", str(port), *files, "--tls-ca-cert-file", trusted.ca_file, "--tls-auth-clients", "no")
    with RedisServer(folder, *options):
        yield Secure(port, trusted.ca_file, untrusted.ca_file)


@pytest.fixture(params=["the CA of another", "no CA"])
def untrusted(request: pytest.FixtureRequest, secure: Secure) -> str:
    return secure.url(f"?ssl_ca_certs={secure.other}" if request.param == "the CA of another" else "")


def opened(url: str, bounds: PoolLimits = AT_ONCE) -> None:
    async def open_it() -> None:
        await (await RedisFrontier.open(url, bounds)).close()

    asyncio.run(open_it())


def refusal(url: str) -> str:
    # However patient: it would not mend itself.
    with pytest.raises(Unavailable) as refused:
        opened(url, PoolLimits(patience_s=600))
    return str(refused.value)


def broker(url: str) -> Celery:
    app = Celery("test")
    app.conf.update(configuration(Settings(Path(), redis_url=url, broker_url=next_database(url))))
    return app


def test_the_frontier_says_why_and_which_parameter_to_give(untrusted: str) -> None:
    said = refusal(untrusted)
    assert REFUSED in said and "SHOAL_REDIS_URL, as in rediss://host:6379/0?ssl_ca_certs=" in said


def test_the_frontier_says_what_else_is_wrong(secure: Secure, tmp_path: Path) -> None:
    opened(secure.right)
    assert "in SHOAL_REDIS_URL, use the server name that its certificate has" in refusal(
        secure.url(f"?ssl_ca_certs={secure.trusted}", "localhost")
    )
    assert "check the files of ssl_ca_certs" in refusal(secure.url("?ssl_ca_certs=/nowhere/ca.pem"))
    (tmp_path / "ca.pem").write_text("nonsense")
    assert "TLS failed" in refusal(secure.url(f"?ssl_ca_certs={tmp_path}/ca.pem"))


def test_the_broker_says_the_same_and_is_never_used_unverified(untrusted: str) -> None:
    with pytest.raises(Unavailable, match=REFUSED) as refused:
        slice_queue.waiting(broker(untrusted), Lane.BATCH)
    assert "SHOAL_BROKER_URL" in str(refused.value)


def test_a_broker_that_is_trusted_or_need_not_be_is_used(secure: Secure) -> None:
    for url in (secure.right, secure.url("?ssl_cert_reqs=none")):
        assert slice_queue.waiting(broker(url), Lane.BATCH) == 0


def test_the_api_answers_with_the_reason(untrusted: str, tmp_path: Path) -> None:
    with api_over(Settings(tmp_path / "home", redis_url=untrusted)) as api:
        told = problem(api("GET", "/workers"), 503)
    assert REFUSED in told["detail"]


def test_a_worker_reports_an_untrusted_broker(secure: Secure, tmp_path: Path) -> None:
    here = Here(tmp_path)
    env = {
        "SHOAL_HOME": str(tmp_path / "home"),
        "SHOAL_REDIS_URL": secure.right,
        "SHOAL_BROKER_URL": secure.url(f"?ssl_ca_certs={secure.other}").replace("/0?", "/1?"),
    }
    log = tmp_path / "home" / "logs" / "worker.log"
    process = here.start("worker", "--processes", "1", env=env)
    try:
        until(lambda: log.exists() and REFUSED in log.read_text())
    finally:
        process.kill()
        process.communicate()
    assert "the broker does not accept messages" in log.read_text()
