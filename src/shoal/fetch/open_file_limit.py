"""Raises the limit on open files: a crawl holds one connection per active host, and the default soft limit is far below
what the system allows."""

from __future__ import annotations

import resource

WANTED = 65_536


def raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED if hard == resource.RLIM_INFINITY else min(hard, WANTED)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
