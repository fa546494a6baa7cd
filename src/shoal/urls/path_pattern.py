"""The pattern of a URL's path: pages that are alike have the same one, such as `/product/*`."""

from __future__ import annotations

import re

_KEPT = 2
"""Leading folders in a pattern: with more of them every page would have its own."""
_VARIES = re.compile(r"[^/]*\d[^/]*|[^/]{30,}")
_EXTENSION = re.compile(r"\.[A-Za-z]{2,5}$")


def path_pattern(url: str) -> str:
    """Takes canonical URLs only."""
    *folders, last = url.partition("?")[0].split("/")[3:] or [""]
    kept = ["*" if _VARIES.fullmatch(folder) else folder for folder in folders[:_KEPT]]
    extension = _EXTENSION.search(last)
    name = f"*{extension[0] if extension else ''}" if last or len(folders) > _KEPT else ""
    return "/".join(["", *kept, name])
