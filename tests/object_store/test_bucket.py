"""A bucket whose server fails, on the way between."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.errors import MissingExtra, ObjectStoreRefused, Unavailable, UsageError
from shoal.object_store.contract import ObjectStore
from shoal.object_store.open_store import open_store
from tests.installed import as_installed
from tests.object_store.fault_proxy import Fault, FaultProxy
from tests.object_store.own_authority import make_server_certificate
from tests.object_store.s3_server import SECRET, S3Server


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    with FaultProxy(s3.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


@pytest.fixture
def bucket(proxy: FaultProxy, s3: S3Server) -> ObjectStore:
    return open_store(f"s3://{s3.new_bucket()}/prefix")


@pytest.mark.parametrize("fault", [Fault(503), Fault(resets=True), Fault(resets=True, passes=True)])
def test_what_fails_twice_is_repeated(bucket: ObjectStore, proxy: FaultProxy, fault: Fault) -> None:
    proxy.fail(fault, times=2)
    bucket.put("key", b"bytes")
    assert proxy.asked["PUT"] == 3
    proxy.fail(fault, times=2)
    assert bucket.get("key") == b"bytes"


def test_a_store_that_stays_away_is_named_in_one_line(bucket: ObjectStore, proxy: FaultProxy) -> None:
    proxy.fail(Fault(503))
    with pytest.raises(Unavailable, match=r"^s3://bucket-\S+/prefix/key: the store answered 503") as away:
        bucket.put("key", b"bytes")
    assert "\n" not in str(away.value) and SECRET not in str(away.value)
    proxy.mend()
    assert bucket.size("key") is None


def test_bytes_that_arrive_damaged_are_noticed(bucket: ObjectStore, proxy: FaultProxy, tmp_path: Path) -> None:
    proxy.fail(Fault(damages=True), "PUT")
    with pytest.raises(Unavailable, match="damaged"):
        bucket.put("key", b"bytes")
    (tmp_path / "file").write_bytes(b"bytes")
    with pytest.raises(Unavailable, match="damaged"):
        bucket.put_file("key", tmp_path / "file")
    proxy.mend()
    bucket.put("key", b"bytes")


@pytest.mark.parametrize(
    ("status", "words"), [(403, "refuses access .403 denied.: check the credentials"), (401, "401")]
)
def test_a_refusal_says_what_to_check(bucket: ObjectStore, proxy: FaultProxy, status: int, words: str) -> None:
    proxy.fail(Fault(status))
    with pytest.raises(ObjectStoreRefused, match=words):
        bucket.put("key", b"bytes")
    with pytest.raises(ObjectStoreRefused, match=words):
        bucket.check()


def test_a_bucket_that_does_not_exist_is_named(s3: S3Server) -> None:
    missing = open_store("s3://not-there/prefix")
    for call in (missing.check, lambda: missing.put("key", b"bytes")):
        with pytest.raises(ObjectStoreRefused, match=r"s3://not-there/prefix\S*: there is no such bucket"):
            call()


def test_an_object_is_not_missing_because_the_machine_has_no_role(
    bucket: ObjectStore, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with FaultProxy(s3.port) as metadata:
        metadata.fail(Fault(404))
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", metadata.endpoint)
        with pytest.raises(
            ObjectStoreRefused, match="no credentials were found: check the credentials: AWS_ACCESS_KEY"
        ):
            bucket.size("key")


def test_a_server_that_is_not_there_is_said_with_the_systems_words(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(Unavailable, match="cannot be reached: Connection refused"):
        open_store("s3://bucket").check()


@pytest.mark.parametrize("url", ["s3://bucket/a", "gs://bucket/a", "az://bucket/a"])
def test_without_the_extra_the_error_names_it(url: str, tmp_path: Path) -> None:
    code = (
        "from shoal.errors import MissingExtra; from shoal.object_store.open_store import open_store\n"
        f"try: open_store({url!r})\n"
        "except MissingExtra as error: print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], env=as_installed(tmp_path / "site"), capture_output=True, text=True, check=True
    )
    assert "pip install 'shoal[s3]'" in said.stdout and MissingExtra.exit_code == 2


def test_a_profile_gives_keys_region_and_endpoint(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in s3.env():
        monkeypatch.delenv(name)
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/credentials").write_text(f"[work]\naws_access_key_id = k\naws_secret_access_key = {SECRET}\n")
    (tmp_path / ".aws/config").write_text(f"[profile work]\nregion = eu-west-1\nendpoint_url = {s3.endpoint}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_PROFILE", "work")
    bucket = open_store(f"s3://{s3.new_bucket()}")
    bucket.put("key", b"bytes")
    assert bucket.get("key") == b"bytes"
    monkeypatch.setenv("AWS_PROFILE", "other")
    with pytest.raises(UsageError, match="AWS_PROFILE is other"):
        open_store("s3://bucket").check()


def test_a_server_with_an_own_authority_needs_its_certificate(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ca_file, context = make_server_certificate(tmp_path)
    with FaultProxy(s3.port, context) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        name = s3.new_bucket()
        with pytest.raises(Unavailable, match="certificate is not trusted: AWS_CA_BUNDLE"):
            open_store(f"s3://{name}").check()
        monkeypatch.setenv("AWS_CA_BUNDLE", str(ca_file))
        open_store(f"s3://{name}").check()


def test_a_file_of_certificates_that_is_not_there_is_named(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere/ca.pem")
    with pytest.raises(UsageError, match=r"/nowhere/ca\.pem"):
        open_store("s3://bucket").check()


@pytest.mark.parametrize("url", ["gs://bucket/a", "az://container/a"])
def test_other_providers_are_opened_by_their_own_variables(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:9")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:9/account")
    with pytest.raises(Unavailable, match=f"{url}: the store cannot be reached: Connection refused"):
        open_store(url).check()
