from __future__ import annotations

import os
import shutil

import pytest


@pytest.fixture
def needs_nginx() -> None:
    """nginx is often where only root looks for it."""
    if shutil.which("nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin") is None:
        assert os.environ.get("CI") != "true", "nginx is missing"
        pytest.skip("nginx is missing: install it (Debian, Ubuntu: apt-get install nginx-light)")
