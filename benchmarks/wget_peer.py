"""The crawl by wget: `python -P wget_peer.py URL PAGES [RATE]`. Writes pages to files and ends with a summary line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_SITE_LACKS_FILES = 8
"""The exit code of wget if the site answered any request with an error, as it does to missing pictures of a manual."""
_MIRROR = ["wget", "--recursive", "--level=inf", "--no-verbose", "--execute=robots=off", "--no-host-directories"]


def main(url: str, rate: str = "") -> None:
    folder = Path("pages")
    pace = [f"--wait={1 / float(rate):.3f}"] if rate else []
    with Path("wget.log").open("wb") as log:
        done = subprocess.run([*_MIRROR, *pace, f"--directory-prefix={folder}", url], stderr=log, check=False)
    if done.returncode not in (0, _SITE_LACKS_FILES):
        done.check_returncode()
    print(json.dumps({"type": "summary", "pages": sum(1 for _ in folder.rglob("*.html"))}))


if __name__ == "__main__":
    main(sys.argv[1], *sys.argv[3:])
