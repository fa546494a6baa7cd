"""Requests with options of their own, from outside: what is shown, archived, and extracted again."""

from __future__ import annotations

import gzip
import json
from typing import Any

from shoal.practice import Running
from tests.cli.conftest import Shell

SHOP = """\
from shoal import Page, spider

@spider("{url}", allow_private=True, rate=0, retries=0)
def shop(page: Page):
    secret = {"headers": {"Authorization": "Bearer sesame"}, "cookies": {"sid": "sesame"}}
    yield page.request("/pages/sale-2019.html", to=read, statuses={404}, **secret)
    yield page.request("/pages/reviews.html", to=read, errors=failed, **secret)
    yield page.request("/pages/slow.html", to=read, errors=failed, timeout=0.1, **secret)
    yield page.request("/old/basket", to=read, **secret)

@shop.callback
def read(page: Page):
    yield {"read": page.status}

@shop.callback
def failed(page: Page):
    yield {"failed": page.failure}
"""
EXPECTED = [{"failed": "status 500"}, {"failed": "timeout"}, {"read": 404}]


def items(shoal: Shell) -> list[dict[str, Any]]:
    return sorted(shoal("items", "last", "--json").lines, key=json.dumps)


def test_options_hold_for_the_archive_and_for_extracting_again(shoal: Shell, troubled_site: Running) -> None:
    site = troubled_site
    (shoal.folder / "shop.py").write_text(SHOP.replace("{url}", site.url()))
    ran = shoal("crawl", "shop.py", "--json")
    assert ran.summary["dropped"] == {"handled": 1}, ran.err
    assert ran.summary["dead"] == 1
    assert items(shoal) == EXPECTED
    (file,) = (shoal.home / "archive").glob("*/*.warc.gz")
    assert b"sesame" not in gzip.decompress(file.read_bytes())
    dead = shoal("dead", "last", "--json")
    assert "/old/checkout" in dead.out
    shown = [dead, shoal("dead", "last"), shoal("explain", "last", site.url("/old/checkout"), "--json"), ran]
    assert all("sesame" not in each.out + each.err for each in shown)
    again = shoal("extract", "last", "--spider", "shop.py", "--processes", "1")
    assert again.code == 0, again.err
    assert items(shoal) == EXPECTED
