"""Sites that nobody here wrote: manuals from Debian's packages, as they are.

A part takes the pages nearest to the front page. Links that lead elsewhere are cut, so that every crawler finds the
same pages.
"""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from benchmarks.measure import CannotMeasure
from benchmarks.site import Href

_FRONT = "index.html"
_HREF = re.compile(rb"""(?<=[\s"'])(href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_ANCHOR = re.compile(rb"""<a\s(?:[^>]*?[\s"'])?(href)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
"""Not every crawler follows other elements, such as a link to the search page."""


@dataclass(frozen=True, slots=True)
class Manual:
    package: str
    """Debian's name."""
    pattern: str
    """Where the package puts its pages, below `documents`."""
    documents: Path = Path("/usr/share/doc")

    def build(self, root: Path, pages: int, _: Href) -> None:
        """Writes so many pages of the manual to `root` and removes what was there."""
        manual = self._installed()
        chosen = _nearest(manual, pages)
        if len(chosen) < pages:
            raise CannotMeasure(f"{self.package} has only {len(chosen)} pages that its front page leads to")
        shutil.rmtree(root, ignore_errors=True)
        for name, page in chosen.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_without_others(name, page, chosen))

    def _installed(self) -> Path:
        if not (found := self._found()) and os.geteuid() == 0 and shutil.which("apt-get"):
            install = ["apt-get", "install", "--yes", "--no-install-recommends", self.package]
            print(f"{self.package} is missing:", *install, file=sys.stderr)
            subprocess.run(install, stdout=subprocess.DEVNULL, check=False)
            found = self._found()
        if not found:
            raise CannotMeasure(f"{self.package} is missing; install it first (Debian: apt-get install {self.package})")
        return found

    def _found(self) -> Path | None:
        return next((path.parent for path in sorted(self.documents.glob(f"{self.pattern}/{_FRONT}"))), None)


def _nearest(manual: Path, pages: int) -> dict[str, bytes]:
    """Name -> content of the pages that the front page leads to, nearest first."""
    chosen: dict[str, bytes] = {}
    waiting = deque([_FRONT])
    while waiting and len(chosen) < pages:
        name = waiting.popleft()
        if name in chosen or not (manual / name).is_file():
            continue
        chosen[name] = (manual / name).read_bytes()
        waiting += (target for match in _ANCHOR.finditer(chosen[name]) if (target := _target(name, match)))
    return chosen


def _without_others(name: str, page: bytes, chosen: dict[str, bytes]) -> bytes:
    def kept(match: re.Match[bytes]) -> bytes:
        target = _target(name, match)
        if target == _FRONT:
            # The front page has one URL, so that every crawler counts it once.
            return b'href="/"'
        return match[0] if target in chosen else match[1] + b'="#"'

    return _HREF.sub(kept, page)


def _target(name: str, match: re.Match[bytes]) -> str | None:
    """The page of the manual to which an attribute leads; None if it leads to none."""
    href = unquote((match[2] if match[2] is not None else match[3]).decode("utf-8", "replace")).partition("#")[0]
    if not href or ":" in href or href.startswith("/") or "?" in href or match[1].lower() != b"href":
        return None
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), href))
    return target if target.endswith(".html") and not target.startswith("..") else None
