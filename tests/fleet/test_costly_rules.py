"""Rules that never end slow their own job alone: other jobs go on, the process lives, and the job says what it does."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from shoal.practice import Hostile, running
from shoal.practice import Running as Site
from shoal.practice.hostile.costly_pages import SIBLINGS
from shoal.practice.hostile.hostile_site import GOOD_PATHS
from tests.fleet.running import Running
from tests.hostile.processes import readers_of
from tests.stopped_processes import stopped

SILENT_S = 5.0
RULES = """
start: {url}
items: [{{fields: {{never: {{xpath: "//*[count(//*[count(//*)>0])>0]/@x", optional: true}}}}}}]
"""


def submitted(fleet: Running, site: Site) -> str:
    (fleet.folder / "endless.yaml").write_text(RULES.format(url=site.url(SIBLINGS)))
    return fleet.submit("endless.yaml", "--rate", "0")


def test_a_slow_page_delays_nothing_else_and_is_reported(tmp_path: Path) -> None:
    env = {"SHOAL_SILENT_S": f"{SILENT_S:g}"}
    with running(Hostile(hurried=True)) as site, Running(tmp_path, processes=1, env=env) as fleet:
        (child,) = fleet.children()
        endless = submitted(fleet, site)
        # As if they read on and on, but without the CPU that they would take from other tests.
        with stopped(fleet.until(lambda: readers_of(child)), then=signal.SIGKILL):
            since = time.monotonic()
            urls = [site.url(path) for path in GOOD_PATHS]
            good = fleet.submit(*urls, "--scope", "listed", "--rate", "0", "--formats", "main")
            # Another reader reads it meanwhile. How soon, is a matter of the machine: readers have a low priority.
            fleet.until(lambda: fleet.figures(good)["pages"] > 0)
            fleet.until(lambda: time.monotonic() - since > SILENT_S + 2)
            limiting = fleet.until(lambda: fleet.figures(endless)["limiting"])
            assert limiting.startswith("reading a page has taken ")
            assert fleet.children() == [child]
            (entry,) = [entry for entry in fleet.roster() if entry.role == "child"]
            assert endless in entry.reading
        assert fleet.until_ended(good, within_s=240)["pages"] == len(GOOD_PATHS)
        dead = fleet.until_ended(endless)
        assert (dead["pages"], dead["dead"]) == (0, 1)
