"""A headless browser without any guard, to see what practice pages do in one. It must not open a hostile page."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

_NAMES = "chromium-headless-shell", "chromium", "google-chrome"
_PATHS = "/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/chromium"
_NOBODY = 65534


def find_browser() -> str:
    """Skips the test where there is none, unless CI=true."""
    found = [os.environ.get("SHOAL_BROWSER", ""), *_PATHS, *filter(None, map(shutil.which, _NAMES))]
    for path in filter(None, found):
        if Path(path).exists():
            return path
    if os.environ.get("CI") == "true":
        pytest.fail("no browser: apt-get install chromium-headless-shell")
    pytest.skip("no browser: apt-get install chromium-headless-shell")


@contextmanager
def profile_folder() -> Iterator[Path]:
    """Which another user may enter: pytest's own folders are closed to others."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name) / "profile"


def dump_dom(url: str, folder: Path, budget_ms: int = 6_000, flags: Sequence[str] = ()) -> str:
    """The document after its scripts ran. `budget_ms` is virtual time, which stands still while a call is pending."""
    argv = [find_browser(), "--headless", "--disable-gpu", "--disable-logging", *flags, f"--user-data-dir={folder}"]
    argv += [f"--virtual-time-budget={budget_ms}", "--dump-dom", url]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder)}
    return subprocess.run(
        as_nobody(argv, folder), capture_output=True, text=True, check=True, timeout=120, env=environment
    ).stdout


@asynccontextmanager
async def browsing(url: str) -> AsyncIterator[None]:
    """A browser that shows this page while the block runs."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        profile = Path(name) / "profile"
        argv = [
            find_browser(),
            "--headless",
            "--disable-gpu",
            "--remote-debugging-port=0",
            f"--user-data-dir={profile}",
        ]
        quiet = asyncio.subprocess.DEVNULL
        environment = {"PATH": os.environ["PATH"], "HOME": name, "TMPDIR": str(profile)}
        process = await asyncio.create_subprocess_exec(
            *as_nobody([*argv, url], profile), stdout=quiet, stderr=quiet, start_new_session=True, env=environment
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def as_nobody(argv: list[str], folder: Path) -> list[str]:
    """As root Chromium has no sandbox and refuses to start, so it becomes another user, who owns the folder."""
    folder.mkdir(exist_ok=True)
    if os.geteuid():
        return argv
    os.chown(folder, _NOBODY, _NOBODY)
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--", *argv]
