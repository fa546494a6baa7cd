"""Several crawls in one home, each in its own process: they share the hosts' clocks, and none disturbs another."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from shoal.practice import Running
from tests.cli.conftest import Here, Ran, Shell, assert_balanced
from tests.cli.crawling import WITHIN_S, until
from tests.politeness import assert_polite

RATE = 12
SLOW = 1.5
"""Too slow to end before both are seen; `hurry` lets them."""


def ended(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=WITHIN_S)
    return Ran(process.returncode, out, err)


def running_jobs(shoal: Shell) -> dict[int, str]:
    """By process, those that have fetched a page."""
    return {job["pid"]: job["id"] for job in shoal("jobs", "--json").lines if job.get("pid") and job["pages"]}


@contextmanager
def two_crawls(shoal: Shell, site: Running, rate: float) -> Iterator[list[subprocess.Popen[str]]]:
    command = ("crawl", site.url(), "--allow-private", "--rate", str(rate), "--json")
    with ExitStack() as stack:
        yield [stack.enter_context(shoal.start(*command)) for _ in range(2)]


def both_running(shoal: Shell) -> dict[int, str]:
    return until(lambda: found if len(found := running_jobs(shoal)) == 2 else {})


def hurry(shoal: Shell, site: Running) -> None:
    assert shoal("hosts", f"{site.addresses[0]}:{site.port}", "--rate", "100").code == 0


def test_two_crawls_of_one_host_share_its_clock_and_both_end_complete(shoal: Here, site: Running) -> None:
    with two_crawls(shoal, site, RATE) as crawls:
        one, two = (ended(crawl) for crawl in crawls)
    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert_polite(site.log(), RATE, 2)
    for ran in (one, two):
        assert_balanced(shoal, ran)
    # Ended jobs leave no locks.
    assert list((shoal.home / "crawls").iterdir()) == []
    alone = shoal.crawl(site.url()).summary["pages"]
    assert one.summary["pages"] == two.summary["pages"] == alone > 10


def test_each_crawl_is_listed_with_its_process_and_is_steered_alone(shoal: Here, site: Running) -> None:
    with two_crawls(shoal, site, SLOW) as (one, two):
        jobs = both_running(shoal)
        assert jobs.keys() == {one.pid, two.pid}
        assert f"running ({two.pid})" in shoal("jobs").out
        assert f"  process     {one.pid}\n" in shoal("job", jobs[one.pid]).out
        refused = shoal("resume", jobs[two.pid], "--max-pages", "1000")
        assert refused.code == 5 and f"job {jobs[two.pid]} is running in process {two.pid}" in refused.err
        assert shoal("cancel", jobs[one.pid]).code == 0
        hurry(shoal, site)
        assert (ended(one).summary["state"], ended(two).summary["state"]) == ("cancelled", "done")


def test_a_killed_crawl_does_not_disturb_the_other_and_resumes_complete(shoal: Here, site: Running) -> None:
    with two_crawls(shoal, site, SLOW) as (killed, other):
        jobs = both_running(shoal)
        killed.send_signal(signal.SIGKILL)
        killed.wait(WITHIN_S)
        hurry(shoal, site)
        done = ended(other)
    assert (done.code, done.summary["state"]) == (0, "done")
    assert shoal("job", jobs[killed.pid], "--json").lines[0]["state"] == "interrupted"
    resumed = shoal("resume", jobs[killed.pid], "--json")
    assert (resumed.code, resumed.summary["state"]) == (0, "done")
    assert resumed.summary["pages"] == done.summary["pages"]
    assert_balanced(shoal, resumed)


SPIDER = """
import sys
from shoal import spider

@spider(sys.argv[1], allow_private=True, rate=12)
def shop(page):
    yield {"url": page.url}
    yield from page.follow("a")

if __name__ == "__main__":
    print(sum(1 for _ in shop.stream()))
"""


def test_spiders_run_from_python_side_by_side_too(shoal: Here, site: Running) -> None:
    (shoal.folder / "shop.py").write_text(SPIDER)
    with ExitStack() as stack:
        two = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "shop.py", site.url()],
                    cwd=shoal.folder,
                    env=shoal.environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(2)
        ]
        outs = [process.communicate(timeout=WITHIN_S) for process in two]
    assert [process.returncode for process in two] == [0, 0], outs
    assert outs[0][0] == outs[1][0] != "0\n"
    assert_polite(site.log(), RATE, 2)
