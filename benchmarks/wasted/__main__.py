"""`python -m benchmarks.wasted [SITE ...]`: crawls real software, and counts in its log what a content page costs.

Prints a row of the table in docs/wasted-requests.md for each site. The sites are those of Debian's packages, which
`make wasted` installs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.wasted.git_browsers import cgit, gitweb
from benchmarks.wasted.logging_server import Content, Requested
from benchmarks.wasted.wikis import dokuwiki, mediawiki
from benchmarks.wasted.wordpress import wordpress

MOST_S = 1800.0
ENOUGH = 0.95
_OPTIONS = ("--rate", "0", "--per-host", "3", "--allow-private", "--no-archive", "--json", "--quiet")
SITES: dict[str, tuple[Callable[[Path], AbstractContextManager[Content]], tuple[str, ...]]] = {
    "mediawiki": (mediawiki, ()),
    "dokuwiki": (dokuwiki, ()),
    "wordpress": (wordpress, ()),
    "cgit": (cgit, ("--ignore-nofollow",)),
    "gitweb": (gitweb, ("--ignore-nofollow",)),
}
"""Each site, and what is asked of the crawl apart from the defaults. With `--ignore-nofollow` it has a limit of pages
per host, which any other limit would replace."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("sites", nargs="*", metavar="SITE", help=f"Of {', '.join(SITES)}; default: all.")
    parser.add_argument("--keep", type=Path, help="Keep home and log of each crawl in this folder.")
    arguments = parser.parse_args()
    print("| site | content | requests | 95 % of the content within | per content page | ended by itself | lost |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in arguments.sites or SITES:
        with tempfile.TemporaryDirectory() as folder:
            print(_measured(name, arguments.keep / name if arguments.keep else Path(folder)), flush=True)


def _measured(name: str, scratch: Path) -> str:
    set_up, options = SITES[name]
    scratch.mkdir(parents=True, exist_ok=True)
    with set_up(scratch) as content:
        ended = _crawl(content.site.url + content.site.start, scratch, options)
    log = [entry for entry in content.site.log if entry.path != "/robots.txt"]
    (scratch / "requests").write_text("".join(f"{entry.status} {entry.path}\n" for entry in log))
    within, lost = _counted(log, content)
    costs = f"{within} | {within / len(content.names):.1f}" if within else "never | "
    shown = " ".join([name, *options])
    return f"| {shown} | {len(content.names)} | {len(log)} | {costs} | {'yes' if ended else 'no'} | {len(lost)} |"


def _crawl(url: str, scratch: Path, options: tuple[str, ...]) -> bool:
    """Whether it came to an end by itself."""
    command = [sys.executable, "-m", "shoal", "--home", str(scratch / "home"), "crawl", url, *_OPTIONS, *options]
    began = time.monotonic()
    with (scratch / "summary").open("w") as summary:
        code = subprocess.run(command, stdout=summary, check=False, timeout=MOST_S).returncode
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(command)} failed with {code}")
    summary_line = json.loads((scratch / "summary").read_text().splitlines()[-1])
    spent, state = f"{time.monotonic() - began:.0f} s", summary_line["state"]
    print(f"{url}: {spent}, {state}, {summary_line.get('dropped')}", file=sys.stderr)
    return bool(state == "done")


def _counted(log: list[Requested], content: Content) -> tuple[int | None, set[str]]:
    """After how many requests enough of the content was there, and what never came."""
    missing = set(content.names)
    within = None
    for number, entry in enumerate(log, start=1):
        if entry.status == 200:
            missing.discard(content.shown(entry.path) or "")
        if within is None and len(missing) <= (1 - ENOUGH) * len(content.names):
            within = number
    return within, missing


if __name__ == "__main__":
    main()
