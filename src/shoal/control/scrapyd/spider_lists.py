"""Lists the spiders of a project, in a separate process with limits. Importing a project runs its code, which must not
reach the API's connections, tokens or threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

from shoal.errors import MissingExtra, UsageError
from shoal.fleet.scrapy_process import is_folder
from shoal.fleet.supervisor import kill_group
from shoal.telemetry.mask_secrets import is_secret

PROGRAM = "shoal.scrapy.list_spiders"
"""By its name only: the API does not know Scrapy."""
LIST_S = 30.0
ANSWER_BYTES = 4 << 20


def spiders_of_package(package: bytes, within_s: float = LIST_S) -> list[str]:
    """Raises UsageError."""
    with TemporaryDirectory(prefix="shoal-project-") as folder:
        path = Path(folder) / "package.zip"
        path.write_bytes(package)
        (unpacked := Path(folder) / "project").mkdir()
        asked = {"package": str(path), "folder": str(unpacked)}
        return _listed(asked, folder, _without_secrets(os.environ, folder), within_s)


def spiders_of_project(project: str, within_s: float = LIST_S) -> list[str]:
    """Of a folder or an installed package, which the operator trusts with the environment. Raises UsageError."""
    with TemporaryDirectory(prefix="shoal-project-") as folder:
        return _listed({"project" if is_folder(project) else "settings": project}, folder, os.environ, within_s)


def _without_secrets(environment: Mapping[str, str], home: str) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not (name.startswith("SHOAL_") or is_secret(name))}
    return {**kept, "HOME": home}


def _listed(asked: Mapping[str, Any], folder: str, environment: Mapping[str, str], within_s: float) -> list[str]:
    if find_spec("scrapy") is None:
        raise MissingExtra("the API needs Scrapy to list spiders", "scrapy")
    with TemporaryFile() as answer, TemporaryFile() as errors:
        # -P: nothing in the current folder is imported before the project is.
        command = [sys.executable, "-P", "-m", PROGRAM]
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=errors,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        try:
            with suppress(BrokenPipeError):
                process.communicate(json.dumps(asked).encode(), within_s)
        except subprocess.TimeoutExpired:
            raise UsageError(f"the project took longer than {within_s:g} s to list its spiders") from None
        finally:
            kill_group(process.pid)
            process.wait()
        return _names(_text(answer), process.returncode, _text(errors))


def _names(answer: str, code: int, errors: str) -> list[str]:
    try:
        told = json.loads(answer)
    except ValueError:
        last = (errors.strip().splitlines() or [""])[-1]
        raise UsageError(f"the process that lists the spiders ended with code {code}: {last}") from None
    if "error" in told:
        raise UsageError(f"the spiders cannot be listed: {told['error']}")
    return [str(name) for name in told["spiders"]]


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(ANSWER_BYTES).decode(errors="replace")
