"""What every object store does, in a bucket and in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import ObjectMissing
from shoal.object_store.contract import ObjectStore
from shoal.object_store.open_store import open_store


@pytest.fixture(params=["bucket", "folder"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "folder":
        return open_store(f"file://{tmp_path}/deep/down")
    server = request.getfixturevalue("s3")
    return open_store(f"s3://{server.new_bucket()}/deep/down")


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
