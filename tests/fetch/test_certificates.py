"""Certificates that are refused, with the reason in words, and the two ways to accept them."""

from __future__ import annotations

import asyncio
import datetime
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from shoal.engine.reading.retry_policy import verdict
from shoal.errors import UsageError
from shoal.fetch.address_guard import AddressGuard
from shoal.fetch.curl_fetcher import Fetcher
from shoal.fetch.curl_transfer import Fetch
from shoal.fetch.exchange import Exchange, Failure, FailureKind
from shoal.fetch.tls_policy import USUAL, TlsPolicy, read_certificates
from shoal.model import Outcome
from tests.fetch.conftest import AGENT
from tests.fetch.secure import Authority, H2Site, certify
from tests.fetch.site import serving


def pem(authority: Authority) -> str:
    return Path(authority.ca_file).read_text()


async def fetch_all(site: H2Site, policy: TlsPolicy, n: int = 1) -> list[Exchange | Failure]:
    fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), tls=policy)
    try:
        return list(await asyncio.gather(*(fetcher.fetch(Fetch(f"{site.url}/{number}")) for number in range(n))))
    finally:
        await fetcher.aclose()


async def detail_of(authority: Authority, policy: TlsPolicy) -> str:
    """Of the failure; the site has got no request."""
    async with serving(H2Site(), authority.context) as site:
        assert isinstance(site, H2Site)
        (failure,) = await fetch_all(site, policy)
        assert site.streams == 0
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.CERTIFICATE
    return failure.detail


async def test_a_self_signed_certificate_is_named(tmp_path: Path) -> None:
    detail = await detail_of(certify(tmp_path, subject="router.lan"), USUAL)
    assert detail == "the certificate of router.lan is self-signed, and no authority vouches for it"


async def test_an_expired_certificate_says_when(tmp_path: Path) -> None:
    authority = certify(tmp_path, subject="old.example", valid=(-30, -3))
    ended = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=3)
    detail = await detail_of(authority, TlsPolicy(ca_certificates=pem(authority)))
    assert detail == f"the certificate of old.example, issued by old.example, has expired on {ended:%Y-%m-%d}"


async def test_a_certificate_from_the_future_says_when(tmp_path: Path) -> None:
    authority = certify(tmp_path, subject="new.example", valid=(3, 30))
    begins = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=3)
    detail = await detail_of(authority, TlsPolicy(ca_certificates=pem(authority)))
    assert f"is not valid before {begins:%Y-%m-%d}" in detail


async def test_a_certificate_of_another_host_says_whose_it_is(tmp_path: Path) -> None:
    authority = certify(tmp_path, subject="other.example", address="192.0.2.7")
    detail = await detail_of(authority, TlsPolicy(ca_certificates=pem(authority)))
    assert detail == (
        "the certificate of other.example, issued by other.example, is not for 127.0.0.1 but for 192.0.2.7"
    )


async def test_an_unknown_issuer_is_named(tmp_path: Path) -> None:
    detail = await detail_of(certify(tmp_path, subject="www.example", issuer="Nobody Knows CA"), USUAL)
    assert detail == "the certificate of www.example has an unknown issuer: Nobody Knows CA"


async def test_the_certificate_is_looked_at_once_however_many_requests_fail(tmp_path: Path) -> None:
    async with serving(H2Site(), certify(tmp_path).context) as site:
        assert isinstance(site, H2Site)
        fetcher = Fetcher(AGENT, AddressGuard(allow_private=True))
        for number in range(5):
            failure = await fetcher.fetch(Fetch(f"{site.url}/{number}"))
            assert isinstance(failure, Failure)
            assert "self-signed" in failure.detail
        await fetcher.aclose()
        # libcurl may see the fault before the site has a connection, or after.
        assert site.streams == 0
        assert site.connections <= 6


async def test_insecure_accepts_any_certificate(tmp_path: Path) -> None:
    authority = certify(tmp_path, address="192.0.2.7", valid=(-30, -3))
    async with serving(H2Site(), authority.context) as site:
        assert isinstance(site, H2Site)
        answers = await fetch_all(site, TlsPolicy(insecure=True), 3)
    assert [isinstance(answer, Exchange) and answer.status for answer in answers] == [200, 200, 200]


async def test_authorities_of_a_job_replace_the_usual_ones(tmp_path: Path) -> None:
    ours, theirs = certify(tmp_path / "ours"), certify(tmp_path / "theirs")
    async with serving(H2Site(), ours.context) as site:
        assert isinstance(site, H2Site)
        (page,) = await fetch_all(site, TlsPolicy(ca_certificates=pem(ours)))
        (failure,) = await fetch_all(site, TlsPolicy(ca_certificates=pem(theirs)))
    assert isinstance(page, Exchange)
    assert isinstance(failure, Failure)


def test_a_private_key_beside_the_certificates_is_left_out(tmp_path: Path) -> None:
    authority = certify(tmp_path)
    text = (tmp_path / "key.pem").read_text() + "# ours\n" + pem(authority)
    assert read_certificates(text) == pem(authority)


@pytest.mark.parametrize(
    "text", ["", "no certificates", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"]
)
def test_a_text_without_certificates_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="ca_file has no certificates that can be read"):
        read_certificates(text)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_host_that_asks_for_a_client_certificate_is_given_up(tmp_path: Path, version: ssl.TLSVersion) -> None:
    authority = certify(tmp_path)
    authority.context.verify_mode = ssl.CERT_REQUIRED
    authority.context.load_verify_locations(authority.ca_file)
    authority.context.minimum_version = authority.context.maximum_version = version
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # asyncio's server closes the connection without OpenSSL's alert.
        threading.Thread(target=_shake_hands, args=(listener, authority.context), daemon=True).start()
        fetcher = Fetcher(AGENT, AddressGuard(allow_private=True), tls=TlsPolicy(ca_certificates=pem(authority)))
        failure = await fetcher.fetch(Fetch(f"https://127.0.0.1:{listener.getsockname()[1]}/"))
        await fetcher.aclose()
    assert isinstance(failure, Failure) and failure.kind is FailureKind.CLIENT_CERTIFICATE
    assert failure.detail == "the host asks for a client certificate, and Shoal has none"
    assert verdict(failure) is Outcome.DEAD


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    """With each client, until the listener is closed."""
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):
            context.wrap_socket(connection, server_side=True).close()
