"""A spider that tries to end the command, from outside: the crawl goes on, and the summary is printed."""

from __future__ import annotations

import signal

from shoal.practice import Running
from tests.cli.conftest import Ran, Shell
from tests.cli.crawling import WITHIN_S, until

WILD = """\
import os, sys, threading
from shoal import Page, spider

@spider("{url}", allow_private=True, rate=0)
def wild(page: Page):
    yield from page.follow("a")
    yield {{"url": page.url}}
    if page.depth == 0:
        threading.Thread(target=threading.Event().wait).start()
        os.chdir("/")
        sys.stdout.close()
        sys.stderr.close()
    elif page.url.endswith("1.html"):
        os._exit(9)
    elif page.url.endswith("2.html"):
        sys.exit("I have seen enough")
"""
SLOW = """\
import pathlib, time
from shoal import Page, spider

@spider("{url}", allow_private=True)
def slow(page: Page):
    pathlib.Path("begun").touch()
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        pass
    yield {{"url": page.url}}
    yield from page.follow("a")
"""

WAITING = """\
import asyncio, pathlib
from shoal import Page, spider

async def wait():
    while {seconds}:
        try:
            await asyncio.sleep({seconds})
        except BaseException:
            pass

@spider("{url}", allow_private=True)
async def waiting(page: Page):
    left = asyncio.create_task(wait())
    pathlib.Path("begun").touch()
    await wait()
    yield {{"url": page.url}}
"""
CANCELLING = """\
import asyncio
from asyncio import all_tasks
from shoal import Page, spider

def cancel_all():
    for task in all_tasks():
        task.cancel()

@spider("{url}", allow_private=True, rate=0)
async def cancelling(page: Page):
    for request in page.follow("a"):
        yield request
    if page.depth == 1:
        {cancel}
    yield {{"url": page.url}}
"""

LEAVING = """\
import asyncio, sys
from shoal import Page, spider

async def leave():
    await asyncio.sleep(0)
    sys.exit(4)

@spider("{url}", allow_private=True, rate=0)
def leaving(page: Page):
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    asyncio.get_running_loop().create_task(leave())
    yield {{"url": page.url}}
    yield from page.follow("a")
"""


def test_what_a_callback_leaves_in_the_event_loop_cannot_end_the_crawl(shoal: Shell, site: Running) -> None:
    (shoal.folder / "leaving.py").write_text(LEAVING.format(url=site.url()))
    ran = Shell(shoal.folder)("crawl", "leaving.py", "-o", "found.jsonl")
    assert ran.code == 0, ran.err
    assert "leaving: done" in ran.err
    assert ran.err.count("left in the event loop tried to end the process: SystemExit: 3; the crawl goes on") == 1
    assert len((shoal.folder / "found.jsonl").read_text().splitlines()) > 15


def test_a_spider_that_tries_to_end_the_command_gets_its_summary(shoal: Shell, site: Running) -> None:
    (shoal.folder / "wild.py").write_text(WILD.format(url=site.url()))
    ran = Shell(shoal.folder)("crawl", "wild.py", "-o", "found.jsonl")
    assert ran.code == 0, ran.err
    assert "wild: done" in ran.err and "see also:" in ran.err and "Traceback" not in ran.err
    details = {letter["detail"] for letter in shoal("dead", "last", "--json").lines}
    assert "wild.wild: SystemExit: os._exit(9) (wild.py:14)" in details
    assert "wild.wild: SystemExit: I have seen enough (wild.py:16)" in details
    assert "the spider left 1 thread running" in ran.err
    assert len((shoal.folder / "found.jsonl").read_text().splitlines()) == 15


def test_ctrl_c_during_a_callback_stops_the_crawl(shoal: Shell, site: Running) -> None:
    (shoal.folder / "slow.py").write_text(SLOW.format(url=site.url()))
    with shoal.start("crawl", "slow.py") as process:
        until((shoal.folder / "begun").exists)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WITHIN_S)
    ran = Ran(process.returncode, out, err)
    assert ran.code == 130 and "resume: shoal resume" in ran.err
    assert "KeyboardInterrupt" not in ran.err


def test_a_stop_does_not_wait_for_an_async_callback_that_never_ends(shoal: Shell, site: Running) -> None:
    spider = shoal.folder / "waiting.py"
    spider.write_text(WAITING.format(url=site.url(), seconds=1000))
    with shoal.start("crawl", "waiting.py") as process:
        until((shoal.folder / "begun").exists)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "resume: shoal resume" in err
    spider.write_text(WAITING.format(url=site.url(), seconds=0))
    again = shoal("resume", "last", "--json")
    assert again.code == 0, again.err
    assert again.lines[-1]["pages"] == 1 and again.lines[-1]["dead"] == 0


def test_a_crawl_whose_tasks_are_all_cancelled_says_so_and_can_be_resumed(shoal: Shell, site: Running) -> None:
    spider = shoal.folder / "cancelling.py"
    # It runs when no callback does.
    later = "asyncio.get_running_loop().call_soon(cancel_all)"
    spider.write_text(CANCELLING.format(url=site.url(), cancel=later))
    ran = Shell(shoal.folder)("crawl", "cancelling.py")
    assert ran.code == 130
    assert "error: something cancelled all tasks of the crawl, likely the spider; resume: shoal resume" in ran.err
    assert "Traceback" not in ran.err
    assert shoal("jobs", "--json").lines[0]["state"] == "interrupted"
    spider.write_text(CANCELLING.format(url=site.url(), cancel="cancel_all()"))
    again = Shell(shoal.folder)("resume", "last")
    assert again.code == 0, again.err
    details = {letter["detail"] for letter in shoal("dead", "last", "--json").lines}
    assert any(detail.startswith("cancelling.cancelling: CancelledError") for detail in details)
