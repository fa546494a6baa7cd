"""Addresses that are nobody else's business, in every spelling: refused before a packet leaves, unless allowed."""

from __future__ import annotations

from pathlib import Path

from shoal.practice import Hostile, running
from tests.cli.conftest import Here

LOOPBACK = ("127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "１２７.0.0.1", "localhost")
EMBEDDED = ("[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0.0.0.0", "[::]")
PRIVATE = ("10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "[fd00::1]", "[fe80::1]", "[fd00:ec2::254]")


def test_private_addresses_are_refused_however_they_are_spelt(tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    with running(Hostile(hurried=True), log=tmp_path / "site.log") as site:
        urls = [f"http://{host}:{site.port}/{n}" for n, host in enumerate((*LOOPBACK, *EMBEDDED))]
        urls += [f"http://{host}/latest/meta-data/" for host in PRIVATE]
        ran = shoal("crawl", *urls, "--scope", "listed", "--rate", "0", "--json")
        assert not site.log()
    assert (ran.code, ran.summary["dropped"]) == (4, {"address_refused": len(urls)})
    for url in urls[-1], urls[0]:
        explained = shoal("explain", ran.summary["job"], url)
        assert "not a public one" in explained.out
