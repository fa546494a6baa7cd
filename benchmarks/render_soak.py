"""`python -m benchmarks.render_soak [--good N]`: 500 rendered pages, a tenth of which attack the browser.

All others must be delivered, the memory of the crawl with its browser must not grow, and nothing may be left of it. All
of this is counted from outside.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from shoal.practice import HostileScripts, running

GOOD = 450
EVERY = 9
TIMEOUT_S = "10"
LOOK_EVERY_S = 0.5
GONE_WITHIN_S = 10.0
MOST_GROWTH = 1.5
"""The median memory of the last quarter against that of the second."""
_CRAWL = (
    "--render",
    "always",
    "--rate",
    "0",
    "--per-host",
    "8",
    "--allow-private",
    "--retries",
    "0",
    "--json",
    "--quiet",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--good", type=int, default=GOOD, help="Pages that do no harm.")
    site = HostileScripts(good=parser.parse_args().good, every=EVERY)
    with tempfile.TemporaryDirectory() as folder, running(site, log=Path(folder) / "visits.jsonl") as server:
        home = Path(folder) / "home"
        command = [sys.executable, "-m", "shoal", "--home", str(home), "crawl", server.url("/"), *_CRAWL]
        began = time.monotonic()
        crawl = subprocess.Popen([*command, "--timeout", TIMEOUT_S], stdout=subprocess.PIPE, text=True)
        memory, sessions = _watched(crawl)
        output = crawl.communicate()[0]
        took_s = time.monotonic() - began
        paths = _delivered(home)
    missing, growth = set(site.good_paths) - paths, _growth(memory)
    good = len(site.good_paths) - len(missing)
    print(f"{good} of {site.good} good pages delivered beside {len(site.attack_paths)} attacks, in {took_s:.0f} s")
    print(f"{len(sessions)} browsers, at most {max(memory) / 1e6:,.0f} MB, at the end {growth:.2f} x the early median")
    summary = json.loads(output.splitlines()[-1])
    print(f"{summary['pages']} pages and {summary['dead']} dead letters in all")
    left = _left_after(sessions)
    faults = [f"not delivered: {', '.join(sorted(missing)[:5])}"] if missing else []
    faults += [f"memory grew to {growth:.2f} x"] if growth > MOST_GROWTH else []
    faults += [f"processes left: {left}"] if left else []
    faults += [f"the crawl ended with code {crawl.returncode}"] if crawl.returncode else []
    sys.exit("\n".join(f"error: {fault}" for fault in faults) or 0)


def _watched(crawl: subprocess.Popen[str]) -> tuple[list[int], set[int]]:
    """Memory of the crawl with all that it started, sampled until it ends, and the sessions of its browsers."""
    memory: list[int] = []
    sessions: set[int] = set()
    while crawl.poll() is None:
        browsers = {pid for pid in _children(crawl.pid) if _session(pid) == pid}
        sessions |= browsers
        processes = [crawl.pid, *(pid for pid in _processes() if _session(pid) in browsers)]
        memory.append(sum(map(_memory, processes)))
        time.sleep(LOOK_EVERY_S)
    return memory, sessions


def _growth(memory: list[int]) -> float:
    quarter = max(1, len(memory) // 4)
    return statistics.median(memory[-quarter:]) / statistics.median(memory[quarter : 2 * quarter] or memory)


def _left_after(sessions: set[int]) -> list[int]:
    deadline = time.monotonic() + GONE_WITHIN_S
    while (left := [pid for pid in _processes() if _session(pid) in sessions]) and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY_S)
    return left


def _delivered(home: Path) -> set[str]:
    command = [sys.executable, "-m", "shoal", "--home", str(home), "pages", "last", "--json"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in listed.splitlines()]
    return {"/" + row["url"].split("/", 3)[3] for row in rows if row.get("via") == "browser" and row["status"] == 200}


def _processes() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _memory(pid: int) -> int:
    """Its share of what it has with others, as PSS counts it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
