"""The browser of this machine, without which a test is skipped (CI=true: it fails)."""

from __future__ import annotations

import os

import pytest

from shoal.browser.find_browser import BrowserMissing, find_browser


def installed_browser() -> str:
    try:
        return str(find_browser())
    except BrowserMissing as missing:
        assert os.environ.get("CI") != "true", str(missing)
        pytest.skip(str(missing))
