"""What every object store does, in a bucket and in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal.errors import ObjectMissing
from shoal.object_store.contract import ObjectStore
from shoal.object_store.open_store import open_store
from tests.object_store.azure_server import AzureServer, running_azure
from tests.object_store.google_server import GoogleServer, running_google


@pytest.fixture(scope="module")
def azure() -> Iterator[AzureServer]:
    with running_azure() as server:
        yield server


@pytest.fixture(scope="module")
def google() -> Iterator[GoogleServer]:
    with running_google() as server:
        yield server


@pytest.fixture(params=["s3", "google", "azure", "folder"])
def objects(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    match request.param:
        case "folder":
            return open_store(f"file://{tmp_path}/deep/down")
        case "google":
            google: GoogleServer = request.getfixturevalue("google")
            for name, value in google.env().items():
                monkeypatch.setenv(name, value)
            return open_store(f"{google.new_bucket()}/deep/down")
        case "azure":
            azure: AzureServer = request.getfixturevalue("azure")
            for name, value in azure.env().items():
                monkeypatch.setenv(name, value)
            return open_store(f"{azure.new_bucket()}/deep/down")
    return open_store(f"s3://{request.getfixturevalue('s3').new_bucket()}/deep/down")


def test_what_is_put_is_read_whole_and_by_range(objects: ObjectStore) -> None:
    objects.check()
    objects.put("a/one", b"0123456789")
    assert objects.get("a/one") == b"0123456789"
    assert objects.get_range("a/one", 2, 3) == b"234"
    assert objects.get_range("a/one", 8, 30) == b"89"
    assert b"".join(objects.stream("a/one")) == b"0123456789"
    assert objects.size("a/one") == 10
    objects.put("a/one", b"")
    assert objects.get("a/one") == b""


@pytest.mark.parametrize("size", [0, 1, 5_000_000, 140_000_000])
def test_a_file_of_any_size_is_put(objects: ObjectStore, tmp_path: Path, size: int) -> None:
    file = tmp_path / "file"
    with file.open("wb") as out:
        out.truncate(size)
        out.seek(max(0, size - 3))
        out.write(b"end"[: size or 0])
    objects.put_file("file", file)
    assert objects.size("file") == size
    assert objects.get_range("file", max(0, size - 3), 3) == b"end"[:size] if size else True


def test_what_is_missing_is_named(objects: ObjectStore) -> None:
    assert objects.size("none") is None
    for read in (objects.get, lambda key: objects.get_range(key, 0, 1), lambda key: list(objects.stream(key))):
        with pytest.raises(ObjectMissing, match="deep/down/none"):
            read("none")


def test_objects_are_listed_below_a_folder_and_deleted(objects: ObjectStore) -> None:
    for key in ("a/2", "a/1", "ab/1", "b"):
        objects.put(key, key.encode())
    assert [tuple(found) for found in objects.list("a")] == [("a/1", 3), ("a/2", 3)]
    assert [found.key for found in objects.list()] == ["a/1", "a/2", "ab/1", "b"]
    objects.delete(["a/1", "a/2", "never-there"])
    assert [found.key for found in objects.list()] == ["ab/1", "b"]
    assert list(objects.list("a")) == []


def test_more_objects_than_one_answer_holds_are_listed_and_deleted(objects: ObjectStore) -> None:
    names = [f"a/{number:04}" for number in range(1_100)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda name: objects.put(name, b"1"), names))
    assert [found.key for found in objects.list("a")] == names
    objects.delete(names)
    assert list(objects.list()) == []
