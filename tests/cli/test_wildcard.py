"""Many names for one machine: it sees the rate of one host, from the first request to each name on."""

from __future__ import annotations

from pathlib import Path

from shoal.practice import Shop, running
from tests.cli.conftest import Here
from tests.politeness import max_in_window

RATE = 10
NAMES = 25


def test_subdomains_of_one_machine_share_one_rate(tmp_path: Path) -> None:
    with running(Shop(hosts=1, categories=1, products=1, troubled=False), log=tmp_path / "site.log") as site:
        names = [f"http://s{n}.trap.localhost:{site.port}/" for n in range(NAMES)]
        (tmp_path / "urls.txt").write_text("\n".join(names))
        options = ("--rate", str(RATE), "--allow-private", "--no-archive", "--json")
        ran = Here(tmp_path)("crawl", "@urls.txt", *options)
        assert ran.lines[-1]["pages"] == NAMES, ran.err
        # With a rate for each name all would come at once; on a busy machine some come late, and so together.
        assert max_in_window(site.log(), site.addresses[0]) < 2 * RATE < NAMES
