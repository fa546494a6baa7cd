"""Pages that crash what reads them, judged from outside: each takes at most a process with it and is blamed alone.

Pages that our scanner reads crash nothing. Where it is not compiled, libraries read them, big ones in a reader process.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from shoal.practice import Hostile, Running, running
from tests.cli.conftest import Here, Ran, Shell, assert_balanced
from tests.cli.crawling import WITHIN_S, until
from tests.hostile.processes import is_gone, reader_of
from tests.hostile.rates import assert_kept
from tests.installed import without_scanner

LINKS = "/twisted/links/"
HEAVY = (LINKS, "/twisted/attributes.html", "/twisted/ways.html", "/twisted/depth.html")
GOOD = "127.0.0.2"
RATE, PACED = 5, 13
STARVING_BYTES = 50_000_000

SPIDER = """
import os, signal
from shoal import Page, spider

@spider("{url}", rate=0, allow_private=True)
def crasher(page: Page):
    yield {{"url": page.url}}
    if page.url.endswith("/good/7.html"):
        os.kill(os.getpid(), signal.{by})
    yield from page.follow("a[href*='/good/']")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(Hostile(hurried=True), log=tmp_path_factory.mktemp("isolation") / "site.log") as site:
        # Made once, when first asked for, and meanwhile the site answers nobody.
        for path in HEAVY:
            build_opener(ProxyHandler({})).open(site.url(path)).read()
        yield site


def test_a_million_links_leave_another_host_its_rate(site: Running, tmp_path: Path) -> None:
    bad, since = [site.url(path) for path in HEAVY], len(site.log())
    good = [site.url(f"/good/{number}.html", GOOD) for number in range(1, PACED)] + [site.url("/", GOOD)]
    asked = ("--scope", "listed", "--allow-private", "--rate", str(RATE), "--per-host", "4", "--json")
    ran = Shell(tmp_path)("crawl", *bad, *good, *asked)
    assert ran.summary["by_status"] == {"200": PACED + len(bad)}
    starts = [e.t_start for e in site.log()[since:] if e.host == GOOD and e.path != "/robots.txt"]
    assert len(starts) == PACED
    assert_kept(RATE, starts)


def crash(reader: int) -> None:
    os.kill(reader, signal.SIGSEGV)


def starve(reader: int) -> None:
    """As soon as it has set itself the bound it starts with, a lower one: the page takes more."""
    os.kill(reader, signal.SIGCONT)
    until(lambda: resource.prlimit(reader, resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY)
    resource.prlimit(reader, resource.RLIMIT_AS, (STARVING_BYTES, STARVING_BYTES))


@pytest.mark.parametrize(("end", "words"), [(crash, "SIGSEGV"), (starve, "MB of memory")])
def test_a_page_that_ends_its_reader_is_blamed_alone(
    site: Running, tmp_path: Path, end: Callable[[int], None], words: str
) -> None:
    shoal = Here(tmp_path)
    good = {site.url(f"/good/{number}.html") for number in range(1, 21)}
    asked = ("--scope", "listed", "--allow-private", "--rate", "0", "--json")
    env = without_scanner(tmp_path / "site")
    with shoal.start("crawl", site.url(LINKS), *good, *asked, env=env) as process:
        reader = reader_of(process.pid)
        os.kill(reader, signal.SIGSTOP)
        job = until(lambda: [job for job in shoal("jobs", "--json").lines if job["pages"] >= len(good)])[0]["id"]
        end(reader)
        os.kill(reader, signal.SIGCONT)
        out, err = process.communicate(timeout=WITHIN_S)
    ran = Ran(process.returncode, out, err)
    assert_balanced(shoal, ran)
    assert (ran.code, ran.summary["dead"]) == (0, 1) and "Traceback" not in ran.err
    (letter,) = shoal("dead", job, "--json").lines
    assert (letter["url"], letter["reason"]) == (site.url(LINKS), "poison"), letter["detail"]
    assert words in letter["detail"]
    assert good <= {page["url"] for page in shoal("pages", job, "--limit", "1000", "--json").lines}


def test_readers_do_not_outlive_a_crawl_that_is_killed(site: Running, tmp_path: Path) -> None:
    asked, env = ("--allow-private", "--rate", "0"), without_scanner(tmp_path / "site")
    with Shell(tmp_path).start("crawl", site.url(LINKS), *asked, env=env) as process:
        reader = reader_of(process.pid)
        process.kill()
        process.wait(WITHIN_S)
        until(lambda: is_gone(reader))


def test_ctrl_c_ends_readers_without_a_word_from_them(site: Running, tmp_path: Path) -> None:
    asked = ("--allow-private", "--rate", "0", "--retries", "0")
    env = without_scanner(tmp_path / "site")
    with Shell(tmp_path).start("crawl", site.url(LINKS), *asked, env=env, start_new_session=True) as process:
        reader = reader_of(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130
    assert "Traceback" not in err and "resume: shoal resume" in err
    assert is_gone(reader)


@pytest.mark.parametrize(("by", "runs"), [("SIGSEGV", 1), ("SIGKILL", 3)])
def test_a_page_that_crashes_its_spider_is_given_up(site: Running, tmp_path: Path, by: str, runs: int) -> None:
    """After one run if it was a fault: a killed process may have been reading an innocent page."""
    shoal, apart = Here(tmp_path), Shell(tmp_path)
    (tmp_path / "crasher.py").write_text(SPIDER.format(url=site.url("/", GOOD), by=by))
    killed = apart("crawl", "crasher.py", "--json")
    (job,) = [job["id"] for job in shoal("jobs", "--json").lines]
    for _ in range(runs - 1):
        assert killed.code == -signal.Signals[by]
        killed = apart("resume", job, "--json")
    assert killed.code == -signal.Signals[by]
    ran = apart("resume", job, "--json")
    assert_balanced(shoal, ran)
    assert (ran.code, ran.summary["dead"]) == (0, 1)
    (letter,) = shoal("dead", job, "--json").lines
    assert (letter["url"], letter["reason"]) == (site.url("/good/7.html", GOOD), "poison")
    found = {item["url"] for item in shoal("items", job, "--limit", "1000", "--json").lines}
    assert found == {site.url(f"/good/{n}.html", GOOD) for n in range(1, 21) if n != 7} | {site.url("/", GOOD)}
