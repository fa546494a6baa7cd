"""One crawl over a site that does everything wrong, judged from outside: it ends, and the good pages are all there."""

from __future__ import annotations

import csv
import fcntl
import json
import os
import pickle
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from shoal.practice import ExpectedResults, Hostile, LogEntry, Running, running
from shoal.practice.hostile.broken_compression import BROKEN, TITLE
from shoal.practice.hostile.endless_links import SHELVES
from shoal.practice.hostile.hard_to_parse import CLIMBING, FORMULAS, PASSWORD
from shoal.practice.hostile.hostile_site import GOOD_PATHS, SILENT
from shoal.practice.hostile.sitemaps import DTD, NESTED, wild_sitemaps
from shoal.urls.traps import RULES
from tests.cli.conftest import Here, Ran, Shell, assert_balanced
from tests.cli.crawling import until
from tests.hostile.rates import assert_kept

MAX_RSS_KB = 400_000
PAGES_PER_HOST = 180
"""More than any host has that ends by itself."""
LONG_S = 1_500
"""The crawl takes two minutes, and on a busy machine five."""
RATE, PACED = 4, 11
WORST, GOOD, HUGE, UNENDING = "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.7"
ROBOTS = "/robots.txt"


@dataclass
class Crawled:
    """A crawl that has ended; so has its site."""

    site: Running
    shoal: Shell
    ran: Ran
    max_rss_kb: int
    truth: dict[str, ExpectedResults]
    log: list[LogEntry]

    def path(self, url: str) -> tuple[str, str]:
        """The address and what of it, as the truth names it."""
        host, _, path = url.removeprefix("http://").partition(f":{self.site.port}")
        return host, path

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.shoal.folder / "pages.jsonl").read_text().splitlines()]

    @cached_property
    def pages(self) -> dict[tuple[str, str], int]:
        return {self.path(record["url"]): record["status"] for record in self.records}

    @cached_property
    def dead(self) -> dict[tuple[str, str], dict[str, Any]]:
        letters = self.shoal("dead", self.ran.summary["job"], "--json").lines
        return {self.path(letter["url"]): letter for letter in letters}

    def expected(self, kind: str) -> dict[tuple[str, str], Any]:
        return {(host, path): end for host, known in self.truth.items() for path, end in getattr(known, kind).items()}


@pytest.fixture(scope="session")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """One crawl for all processes of pytest: it takes longer than all its tests. Whoever comes first makes it."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "hostile"
    folder.mkdir(exist_ok=True)
    made = folder / "crawled"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            made.write_bytes(pickle.dumps(crawl(folder)))
    found = pickle.loads(made.read_bytes())
    assert isinstance(found, Crawled)
    return found


def crawl(folder: Path) -> Crawled:
    shoal, hostile = Here(folder), Hostile(hurried=True)
    with running(hostile, log=shoal.folder / "site.log") as site:
        limits = ("--max-pages-per-host", str(PAGES_PER_HOST), "--max-seconds", f"{LONG_S}", "--retries", "0")
        asked = ("--scope", "any", "--sitemaps", "--allow-private", "--rate", "0", "--json", "-o", "pages.jsonl")
        ran, max_rss_kb = _run(shoal, "crawl", site.url(), *limits, *asked)
        assert_balanced(shoal, ran)
        return Crawled(site, shoal, ran, max_rss_kb, hostile.truth(), site.log())


TELLS_ITS_PEAK = """
import atexit, pathlib, re
def tell():
    status = pathlib.Path("/proc/self/status").read_text()
    with open({file!r}, "a") as peaks:
        peaks.write(re.search(r"VmHWM:\\s+(\\d+)", status)[1] + "\\n")
atexit.register(tell)
"""


def _run(shoal: Shell, *args: str) -> tuple[Ran, int]:
    """With the most memory that it or one of its processes held at any time, as they say themselves: whoever waits for
    a process is told the peak of the one that started it, if that was larger."""
    peaks = shoal.folder / "peaks"
    (shoal.folder / "sitecustomize.py").write_text(TELLS_ITS_PEAK.format(file=str(peaks)))
    seen_first = os.pathsep.join(filter(None, (str(shoal.folder), os.environ.get("PYTHONPATH"))))
    with shoal.start(*args, env={"PYTHONPATH": seen_first}) as process:
        out, err = process.communicate()
    return Ran(process.returncode, out, err), max(map(int, peaks.read_text().split()))


def test_the_crawl_ends_well_and_within_its_memory(crawled: Crawled) -> None:
    assert crawled.ran.code == 0, crawled.ran.err
    assert "Traceback" not in crawled.ran.err
    assert crawled.ran.summary["state"] == "limited"
    assert crawled.max_rss_kb < MAX_RSS_KB


def test_every_good_page_is_there(crawled: Crawled) -> None:
    expected = crawled.expected("pages") | crawled.expected("unlinked")
    assert {page: crawled.pages.get(page) for page in expected} == expected
    titles = {crawled.path(record["url"])[1]: record["title"] for record in crawled.records if record["status"] == 200}
    good = {path: title for path, title in titles.items() if path.startswith("/good/")}
    assert good == {path: path for path in good}


def test_what_cannot_be_had_is_dead_with_its_reason(crawled: Crawled) -> None:
    expected = crawled.expected("broken") | dict.fromkeys(crawled.expected("dead"), "http")
    assert {page: letter["reason"] for page, letter in crawled.dead.items()} == expected
    assert all(crawled.dead[page]["status"] == status for page, status in crawled.expected("dead").items())


def test_redirects_end_where_they_leave_http_or_never_end(crawled: Crawled) -> None:
    moves = crawled.expected("redirects")
    assert crawled.ran.summary["redirects"] == len(moves)
    left = sum(not there.startswith(("/", "http://")) for there in moves.values())
    assert crawled.ran.summary["skipped"]["not_http"] == left


def test_what_could_be_unpacked_is_a_page_and_its_fault_is_told(crawled: Crawled) -> None:
    titles = {crawled.path(record["url"])[1]: record["title"] for record in crawled.records}
    assert {path: titles.get(path) for path in BROKEN} == dict.fromkeys(BROKEN, TITLE)
    told = [line for line in crawled.ran.lines if line["type"] == "error" and line["kind"] == "broken_coding"]
    assert [line["count"] for line in told][-1:] == [len(BROKEN)]


def test_sitemaps_are_asked_for_once_and_nothing_that_their_xml_names(crawled: Crawled) -> None:
    asked = Counter(entry.path for entry in crawled.log if entry.host == WORST)
    assert {path: asked[path] for path in wild_sitemaps()} == dict.fromkeys(wild_sitemaps(), 1)
    assert sum(path.startswith(NESTED) for path in asked) == 3
    assert crawled.ran.summary["skipped"]["too_many_sitemaps"] == 1
    assert not [path for path in asked if path.startswith(DTD)]


def test_of_a_huge_robots_txt_no_more_is_taken_than_is_read(crawled: Crawled) -> None:
    assert [entry.status for entry in crawled.log if (entry.host, entry.path) == (HUGE, ROBOTS)] == [None]


def test_links_beyond_the_most_of_a_page_are_told(crawled: Crawled) -> None:
    assert crawled.ran.summary["skipped"]["too_many_links"] > 0


def test_nothing_forbidden_is_asked_for(crawled: Crawled) -> None:
    forbidden = crawled.expected("dropped")
    assert crawled.ran.summary["dropped"] == Counter(forbidden.values())
    assert crawled.ran.summary["dropped"].keys() == {"robots", "address_refused"}
    assert not forbidden.keys() & {(entry.host, entry.path) for entry in crawled.log}
    assert not any(entry.path.startswith("/private/") for entry in crawled.log)


def test_hosts_whose_robots_txt_cannot_be_had_or_says_so_are_left_alone(crawled: Crawled) -> None:
    alone = {host for host, truth in crawled.truth.items() if not truth.pages and host in crawled.site.addresses}
    assert len(alone) == 7
    assert {entry.path for entry in crawled.log if entry.host in alone} == {ROBOTS}


def test_ways_without_end_are_left_soon(crawled: Crawled) -> None:
    endless = crawled.expected("endless")
    asked = {way: sum(e.host == way[0] and e.path.startswith(way[1]) for e in crawled.log) for way in endless}
    assert all(0 < asked[way] <= most for way, most in endless.items()), asked
    assert crawled.ran.summary["skipped"]["trap"] >= len(endless)
    by_host = Counter(host for host, _ in crawled.pages)
    assert by_host.pop(UNENDING) == PAGES_PER_HOST
    assert max(by_host.values()) < PAGES_PER_HOST


def test_what_was_left_out_as_a_trap_is_told_by_rule(crawled: Crawled) -> None:
    traps = {trap["rule"]: trap for trap in crawled.ran.summary["traps"]}
    assert traps.keys() == RULES.keys() - {"queries", "subdomains"}
    assert sum(trap["links"] for trap in traps.values()) == crawled.ran.summary["skipped"]["trap"]
    calendar = traps["calendar"]
    assert len(calendar["samples"]) == 3 and all("/calendar/20" in url for url in calendar["samples"])
    assert calendar["allow"] == "--allow-trap calendar"


def test_pages_of_many_sessions_are_asked_for_once(crawled: Crawled) -> None:
    asked = Counter(entry.path for entry in crawled.log if entry.path.startswith("/shelf/"))
    assert asked == dict.fromkeys(SHELVES, 1)
    assert "--keep-params PHPSESSID" in crawled.dead[WORST, "/members.html"]["detail"]


def test_titles_and_texts_are_kept_without_what_steers_a_terminal(crawled: Crawled) -> None:
    titles = {crawled.path(record["url"])[1]: record["title"] for record in crawled.records}
    read = ("utf-16", "utf-16-be", "unknown")
    assert {titles[f"/charset/{name}.html"] for name in read} == {"Café"}
    shown = crawled.shoal("pages", crawled.ran.summary["job"], "--limit", "1000")
    assert shown.code == 0 and "Sale HTTP" in shown.out
    told = shown.out + "".join(crawled.shoal(of, crawled.ran.summary["job"]).out for of in ("dead", "job"))
    assert not [char for char in told + crawled.ran.err if char != "\n" and not char.isprintable()]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_odd_bytes_can_be_exported(crawled: Crawled, ending: str) -> None:
    written = crawled.shoal.folder / f"pages.{ending}"
    ran = crawled.shoal("export", crawled.ran.summary["job"], "--pages", "-o", str(written))
    assert ran.code == 0, ran.err
    if ending == "csv":
        csv.field_size_limit(10_000_000)
        with written.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == len(crawled.records)
        defused = {f"'{formula}" for formula in FORMULAS.values()}
        assert {row["title"] for row in rows if row["title"].lstrip("'") in FORMULAS.values()} == defused


def test_no_file_is_named_after_a_url(crawled: Crawled) -> None:
    assert (WORST, CLIMBING) in crawled.pages
    names = {path.name for path in crawled.shoal.folder.rglob("*")}
    assert not [name for name in names if "passwd" in name or "%2F" in name or ".html" in name]


def test_credentials_of_a_link_are_written_nowhere(crawled: Crawled) -> None:
    assert PASSWORD not in crawled.ran.out + crawled.ran.err
    places = [*crawled.shoal.home.rglob("*"), crawled.shoal.folder / "pages.jsonl"]
    kept = [path for path in places if path.is_file()]
    assert kept and not [path.name for path in kept if PASSWORD.encode() in path.read_bytes()]


def test_bombs_and_floods_leave_another_host_its_rate(tmp_path: Path) -> None:
    hostile = Hostile(hurried=True)
    with running(hostile, log=tmp_path / "site.log") as site:
        broken = hostile.truth()[WORST].broken
        bad = [site.url(path) for path in broken if path.startswith(("/bombs/", "/framing/"))]
        good = [site.url(f"/good/{number}.html", GOOD) for number in range(1, PACED + 1)]
        urls = [url for pair in zip_longest(bad, good) for url in pair if url]
        asked = ("--scope", "listed", "--retries", "0", "--allow-private", "--rate", str(RATE))
        starts = starts_of_good(Shell(tmp_path), site, *urls, *asked)
    assert_kept(RATE, starts)


def test_drips_and_silence_leave_another_host_its_rate(tmp_path: Path) -> None:
    with running(Hostile(), log=tmp_path / "site.log") as site:
        bad = [site.url(f"/framing/{name}.html?{n}") for name in ("drip", "silence") for n in range(10)]
        bad += [site.url(path, SILENT) for path in GOOD_PATHS]
        good = [site.url(path, GOOD) for path in GOOD_PATHS[:PACED]]
        asked = ("--scope", "listed", "--allow-private", "--rate", str(RATE), "--per-host", "10")
        starts = starts_of_good(Shell(tmp_path), site, *bad, *good, *asked)
    assert_kept(RATE, starts)


def starts_of_good(shoal: Shell, site: Running, *words: str) -> list[float]:
    """When the good pages were asked for; the crawl is over when all were."""

    def look() -> list[float]:
        starts = [entry.t_start for entry in site.log() if (entry.host, entry.path[:6]) == (GOOD, "/good/")]
        return starts if len(starts) == PACED else []

    with shoal.start("crawl", *words) as process:
        try:
            return until(look)
        finally:
            process.kill()


def test_without_leave_nothing_of_it_is_asked(tmp_path: Path) -> None:
    with running(Hostile(hurried=True), log=tmp_path / "site.log") as site:
        ran = Here(tmp_path)("crawl", site.url(), "--rate", "0", "--json")
        assert (ran.code, ran.summary["dropped"]) == (4, {"address_refused": 1})
        assert site.log() == []
