"""Where files of items are, in the archive and in exports."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shoal.store.archive.archive_folders import stored_path

if TYPE_CHECKING:
    from mimetypes import MimeTypes


@cache
def _mime() -> MimeTypes:
    """Without the tables of the system: a path must not depend on the machine."""
    # Imported here only: few crawls keep files.
    from mimetypes import MimeTypes

    return MimeTypes()


def file_path(digest: str, content_type: str) -> str:
    """Where the archive and an export of files have it. The digest has the name of its algorithm: `sha256:977c…`."""
    name = digest.rpartition(":")[2]
    return stored_path(f"{name}{_mime().guess_extension(content_type) or ''}")
