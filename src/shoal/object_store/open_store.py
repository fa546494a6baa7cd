"""Opens the object store that a URL names."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from shoal.errors import MissingExtra
from shoal.object_store.contract import ObjectStore
from shoal.object_store.folder import Folder
from shoal.object_store.object_url import ObjectUrl


def open_store(url: str) -> ObjectStore:
    """The URL is that of a prefix. Connects to nothing. Raises UsageError."""
    parsed = ObjectUrl.parse(url)
    if parsed.scheme == "file":
        return Folder(Path(parsed.key))
    check_extra(url)
    from shoal.object_store.bucket import Bucket

    return Bucket(parsed)


def check_extra(url: str) -> None:
    """Raises MissingExtra."""
    if importlib.util.find_spec("obstore") is None:
        raise MissingExtra(f"{url}: object stores need obstore", "s3")
