"""What must hold of a fleet's crawl whatever was done to it, told from outside: by the commands, the tables and the
site's own log.

    I1  found = queued + leased + pages + assets + redirects + dead + dropped
    I2  every page of the shop that can be reached is a page row
    I3  the items are those of an embedded crawl, each once
    I4  the site saw no more than the rate, no more at once than the cap, nothing twice but what a fault interrupted
    I5  figures are what the tables count
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.fleet.fleet import Fleet
from shoal.practice import LogEntry, Shop
from shoal.practice import Running as Site
from shoal.store.results.job_figures import StoredFigures, stored_figures
from tests.cli.conftest import Here, Shell
from tests.fleet.by_hand import FleetShell
from tests.politeness import assert_polite, fetched_more_than_once

DELAYED_S = 0.25
"""A fleet's processes, its site and the other tests share two cores."""


def assert_balanced(figures: dict[str, Any]) -> None:
    """I1."""
    parts = [figures[name] for name in ("queued", "leased", "pages", "assets", "redirects", "dead")]
    assert figures["found"] == sum(parts) + sum(figures["dropped"].values()), figures


def assert_complete(fleet: FleetShell, job: str, shop: Shop, site: Site) -> None:
    """I2, of a job that was given the front page of every host of the shop."""
    rows = fleet("pages", job, "--json").lines
    assert len(rows) == len({row["url"] for row in rows})
    truth = shop.truth().items()
    expected = {site.url(path, host): status for host, known in truth for path, status in known.pages.items()}
    assert {row["url"]: row["status"] for row in rows} == expected


def items_of(shell: Shell, job: str) -> list[str]:
    """As they are exported, sorted."""
    out = shell.folder / f"items-{job}.jsonl"
    ran = shell("export", job, "-o", out.name, "--overwrite")
    assert ran.code == 0, ran.err
    return sorted(out.read_text().splitlines())


def items_embedded(folder: Path, *source: str) -> list[str]:
    """Of a crawl without a fleet, in a home of its own, sorted."""
    folder.mkdir()
    shell = Here(folder)
    ran = shell.crawl(*source, "-o", "items.jsonl")
    assert ran.code == 0, ran.err
    return sorted((folder / "items.jsonl").read_text().splitlines())


def assert_same_items(fleet: FleetShell, job: str, expected: list[str]) -> None:
    """I3."""
    found = items_of(fleet, job)
    assert len(found) == len(set(found)), "an item twice"
    assert found == expected


def assert_behaved(log: list[LogEntry], rate: float, per_host: int, repeats: int = 0) -> None:
    """I4; `repeats` is how many fetches may have been interrupted."""
    assert_polite(log, rate, per_host, DELAYED_S)
    twice = fetched_more_than_once(log)
    assert sum(times - 1 for times in twice.values()) <= repeats, twice


def assert_counted(fleet: FleetShell, job: str, figures: dict[str, Any]) -> None:
    """I5."""

    async def count(opened: Fleet) -> StoredFigures:
        return stored_figures(opened.store, job)

    stored = fleet.by_hand(count)
    told = [figures[name] for name in ("pages", "redirects", "dead", "dropped", "items")]
    assert told == [stored.pages, stored.redirects, stored.dead, stored.dropped, stored.items]


def assert_whole(fleet: FleetShell, job: str, shop: Shop, site: Site) -> None:
    """I1, I2 and I5 of a job that is done."""
    figures = fleet.figures(job)
    assert figures["state"] == "done", figures
    assert figures["queued"] == figures["leased"] == 0, figures
    assert_balanced(figures)
    assert_complete(fleet, job, shop, site)
    assert_counted(fleet, job, figures)
