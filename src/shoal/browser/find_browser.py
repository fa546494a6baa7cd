"""Finds the browser to render with: the one that SHOAL_BROWSER names, or the leanest that is installed.

The headless shell takes a half to a quarter of the CPU time of Chromium, and calls nobody by itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from shoal.errors import UsageError

_INSTALL = "install it (Debian: apt-get install chromium-headless-shell), or name a browser in SHOAL_BROWSER"
# The programs themselves, not the shell scripts around them: a script would stay between us and the browser.
_SHELLS = (
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib64/chromium-browser/headless_shell",
    "/headless-shell/headless-shell",
)
_BROWSERS = (
    *("/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser"),
    *("/usr/lib64/chromium-browser/chromium-browser", "/opt/google/chrome/chrome"),
)
_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "headless-shell", "chromium", "google-chrome", "chrome")
_PLAYWRIGHT = (
    *("chromium_headless_shell-*/chrome-linux/headless_shell", "chromium_headless_shell-*/*/chrome-headless-shell"),
    "chromium-*/chrome-linux*/chrome",
)


class BrowserMissing(UsageError):
    """No browser was found, or the one found cannot be used. The text says what to do."""


def find_browser(given: str | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """`given` is the setting `browser`. Raises BrowserMissing."""
    if given is not None:
        found = shutil.which(given, path=environment.get("PATH"))
        if found is None:
            raise BrowserMissing(f"SHOAL_BROWSER is {given!r}, which is not a program: {_INSTALL}")
        return Path(found)
    for path in _candidates(environment):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise BrowserMissing(f"rendering needs a browser, and none was found: {_INSTALL}")


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    yield from map(Path, _SHELLS)
    downloads = list(_playwright_folders(environment))
    for pattern in _PLAYWRIGHT[:-1]:
        for folder in downloads:
            yield from sorted(folder.glob(pattern), reverse=True)
    yield from map(Path, _BROWSERS)
    for name in _NAMES:
        if found := shutil.which(name, path=environment.get("PATH")):
            yield Path(found)
    for folder in downloads:
        yield from sorted(folder.glob(_PLAYWRIGHT[-1]), reverse=True)


def _playwright_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    if given := environment.get("PLAYWRIGHT_BROWSERS_PATH"):
        yield Path(given)
    if home := environment.get("HOME"):
        yield Path(home) / ".cache/ms-playwright"
