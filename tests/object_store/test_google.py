"""Google Cloud Storage with the credentials of a service account, over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from shoal.errors import ObjectStoreRefused, Unavailable
from shoal.object_store.open_store import open_store
from tests.object_store.google_server import GoogleServer, running_google
from tests.object_store.own_authority import make_server_certificate


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GoogleServer]:
    authority, tls = make_server_certificate(tmp_path)
    with running_google(tls) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        # obstore's own variable for the address of the API.
        monkeypatch.setenv("GOOGLE_BASE_URL", server.endpoint)
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(server.write_credentials(tmp_path / "account.json")))
        yield server


def test_requests_carry_the_token_of_the_service_account(google: GoogleServer) -> None:
    objects = open_store(f"{google.new_bucket()}/prefix")
    objects.put("one", b"1")
    assert objects.get("one") == b"1" and [found.key for found in objects.list()] == ["one"]
    objects.delete(["one"])
    assert objects.size("one") is None


def test_a_refused_account_is_named_with_googles_variable(google: GoogleServer) -> None:
    objects = open_store(f"{google.new_bucket()}/prefix")
    google.account_key = rsa.generate_private_key(65537, 2048)
    with pytest.raises(ObjectStoreRefused, match=r"403 AccessDenied.: check the credentials: GOOGLE_APPLICATION_CRED"):
        objects.put("one", b"1")


def test_an_unknown_authority_is_named_with_googles_variable(
    google: GoogleServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(Unavailable, match="its certificate is not trusted: SSL_CERT_FILE names a file"):
        open_store(google.new_bucket()).check()
