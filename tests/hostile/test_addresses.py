"""Addresses that are nobody else's business, in every spelling: refused before a packet leaves, unless allowed."""

from __future__ import annotations

from pathlib import Path

from shoal.practice import Hostile, running
from tests.cli.conftest import Here

LOOPBACK = ("127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.0.1", "017700000001")
WRITTEN = ("１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "%31%32%37.0.0.1", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ")
EMBEDDED = (
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::7f00:1]",
)
TUNNELLED = ("[2002:7f00:1::]", "[2001:0:808:808::80ff:fffe]", "0.0.0.0", "[::]")
NAMED = "localhost"
PRIVATE = ("10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "[fd00::1]", "[fe80::1]", "[fd00:ec2::254]")


def test_private_addresses_are_refused_however_they_are_spelt(tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    with running(Hostile(hurried=True), log=tmp_path / "site.log") as site:
        hosts = (*LOOPBACK, *WRITTEN, *EMBEDDED, *TUNNELLED, NAMED)
        urls = [f"http://{host}:{site.port}/{n}" for n, host in enumerate(hosts)]
        urls += [f"http://{host}/latest/meta-data/" for host in PRIVATE]
        ran = shoal("crawl", *urls, "--scope", "listed", "--rate", "0", "--json")
        assert not site.log()
    assert (ran.code, ran.summary["dropped"]) == (4, {"address_refused": len(urls)})
    named = urls[len(hosts) - 1]
    for url in urls[-1], urls[0], named:
        explained = shoal("explain", ran.summary["job"], url)
        assert "is not public" in explained.out
    # What the name stands for inside is nobody's business.
    assert "127.0.0.1" not in explained.out and "::1" not in explained.out
