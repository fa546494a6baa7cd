"""Unpacking an uploaded project: what a zip file may do, and what is on disk when a process dies."""

from __future__ import annotations

import io
import os
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from shoal.errors import UsageError
from shoal.fleet.scrapy_packages import KEEP_S, package_folders, remove_old_packages
from shoal.scrapy.managed_job import fetched
from shoal.scrapy.uploaded_project import BYTES, settings_module, unpack
from shoal.store.fleet.scrapy_projects import save_version
from shoal.store.store import Store
from tests.control.eggs import egg, packed, wheel


def test_names_in_a_package_lead_nowhere_else(tmp_path: Path) -> None:
    unpack(io.BytesIO(packed({"../out.py": "", "/etc/out.py": "", "a/../../out2.py": ""})), tmp_path / "in")
    assert not list(tmp_path.glob("*.py")) and len(list((tmp_path / "in").rglob("*.py"))) == 3


def test_a_package_that_would_fill_the_disk_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros", "w") as member:
        for _ in range((BYTES >> 24) + 1):
            member.write(b"\0" * (1 << 24))
    with pytest.raises(UsageError, match="more than 512 MB unpacked"):
        unpack(file, tmp_path / "in")
    assert not (tmp_path / "in").exists()


@pytest.mark.parametrize("package", [egg("daily"), wheel("daily")], ids=["egg", "wheel"])
def test_eggs_and_wheels_name_their_settings(package: bytes, tmp_path: Path) -> None:
    unpack(io.BytesIO(package), tmp_path)
    assert settings_module(tmp_path) == "news.settings"


def test_a_package_is_fetched_once_and_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    package, database, folders = egg("daily"), tmp_path / "shoal.db", package_folders(tmp_path)
    digest = sha256(package).hexdigest()
    folders.mkdir()
    with Store.open(database) as store:
        save_version(store, "news", "1", package, ["daily"], 1.0)
    # What a process that was killed left behind.
    (folders / f"{digest}.999999").mkdir()
    folder = fetched(digest, database, folders, os.getppid())
    assert (folder / "news" / "spiders.py").exists()
    database.unlink()
    assert fetched(digest, database, folders, os.getppid()) == folder
    with pytest.raises(UsageError, match="it was deleted"):
        fetched("0" * 64, database, folders, os.getppid())


def test_folders_that_nobody_uses_are_removed_after_a_day(tmp_path: Path) -> None:
    for name, age_s in {"used": KEEP_S + 60, "old": KEEP_S + 60, "new": 0.0}.items():
        (folder := package_folders(tmp_path) / name).mkdir(parents=True)
        at = folder.stat().st_mtime - age_s
        os.utime(folder, (at, at))
    remove_old_packages(tmp_path, {"used", None})
    assert sorted(path.name for path in package_folders(tmp_path).iterdir()) == ["new", "used"]
