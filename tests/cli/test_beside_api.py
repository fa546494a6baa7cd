"""A crawl of the home with an API set: what it says to type next works as printed, without the API."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator

import pytest

from shoal.practice import Running
from tests.cli.conftest import Here
from tests.cli.crawling import crawling

AWAY = {"SHOAL_API_URL": "http://127.0.0.1:9", "SHOAL_TOKEN": "shoal_x"}
"""Whatever asks it fails."""


def hinted(err: str, words: str) -> Iterator[list[str]]:
    """The commands after these words, without `shoal`."""
    (line,) = (line for line in err.splitlines() if line.startswith(words))
    for command in line.removeprefix(f"{words}: shoal ").split(" | "):
        yield shlex.split(command)


def test_a_crawl_names_commands_that_show_more(shoal: Here, site: Running) -> None:
    ran = shoal("crawl", site.url(), "--max-pages", "2", "--allow-private", "--rate", "0", env=AWAY)
    commands = list(hinted(ran.err, "see also"))
    assert [verb for verb, _ in commands] == ["job", "pages", "dead"]
    for command in commands:
        assert shoal(*command, env=AWAY).code == 0


def test_an_interrupted_crawl_says_how_to_resume_it(shoal: Here, site: Running) -> None:
    with crawling(shoal, site) as crawl:
        crawl.process.send_signal(signal.SIGINT)
        (command,) = hinted(crawl.ended().err, "resume")
        crawl.hurry()
    ran = shoal(*command, env=AWAY)
    assert ran.code == 0 and ": done, " in ran.err


@pytest.mark.parametrize("name", ["last", "0123456789a"])
def test_any_other_job_name_is_looked_up_through_the_api(shoal: Here, site: Running, name: str) -> None:
    shoal.crawl(site.url(), "--max-pages", "1")
    assert shoal("job", name, env=AWAY).code == 5
