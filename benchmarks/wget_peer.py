"""The crawl by wget: `python -P wget_peer.py URL PAGES [RATE]`. Writes pages to files and ends with a summary line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_MIRROR = ["wget", "--recursive", "--level=inf", "--no-verbose", "--execute=robots=off", "--no-host-directories"]


def main(url: str, rate: str = "") -> None:
    folder = Path("pages")
    pace = [f"--wait={1 / float(rate):.3f}"] if rate else []
    with Path("wget.log").open("wb") as log:
        subprocess.run([*_MIRROR, *pace, f"--directory-prefix={folder}", url], stderr=log, check=True)
    print(json.dumps({"type": "summary", "pages": sum(1 for _ in folder.rglob("*.html"))}))


if __name__ == "__main__":
    main(sys.argv[1], *sys.argv[3:])
