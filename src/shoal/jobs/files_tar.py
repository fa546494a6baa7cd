"""The files of a job as one stream: a tar archive, which an API sends and a command or `tar -x` reads."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator
from io import RawIOBase
from typing import IO, cast

from shoal.errors import UsageError
from shoal.jobs.export_files import JobFile

_PATH = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}(\.[A-Za-z0-9]+)?")
_MODE = 0o644


def tar_of(files: Iterable[JobFile]) -> Iterator[bytes]:
    for path, body in files:
        about = tarfile.TarInfo(path)
        about.size, about.mode = len(body), _MODE
        yield about.tobuf(tarfile.USTAR_FORMAT)
        yield body
        yield bytes(-len(body) % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def files_of(tar: Iterator[bytes]) -> Iterator[JobFile]:
    """Raises UsageError for anything but the files of a job."""
    try:
        with tarfile.open(fileobj=cast(IO[bytes], _Reader(tar)), mode="r|") as archive:
            for about in archive:
                content = archive.extractfile(about) if _PATH.fullmatch(about.name) else None
                if content is None:
                    raise UsageError(f"the API sent {about.name!r} as a file of the job: is it of another version?")
                yield JobFile(about.name, content.read())
    except tarfile.TarError as error:
        raise UsageError(f"the API did not send the files of the job as a tar archive: {error}") from error


class _Reader(RawIOBase):
    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._held = b""

    def read(self, size: int = -1) -> bytes:
        parts, n = [self._held], len(self._held)
        while size < 0 or n < size:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            n += len(block)
        data = b"".join(parts)
        end = len(data) if size < 0 else size
        self._held = data[end:]
        return data[:end]
