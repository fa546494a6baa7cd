"""Small pages that take minutes to read, and rules that never end: nothing waits for them, and all can be ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoal.engine.readers.reader_client import ReadFailed, ask_once
from shoal.engine.reading.read_by_rules import RulesRequest
from shoal.practice import Hostile, Running, running
from shoal.practice.hostile.costly_pages import COSTLY, QUOTES, SIBLINGS
from shoal.spiders.page import Page
from tests.cli.conftest import Here, Shell
from tests.cli.crawling import WITHIN_S, until
from tests.hostile.processes import is_gone, reader_of

ENDLESS = "//*[count(//*[count(//*)>0])>0]/@x"
RULES = """
start: {url}
items: [{{fields: {{never: {{xpath: "{xpath}", optional: true}}}}}}]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(Hostile(hurried=True), log=tmp_path_factory.mktemp("costly") / "site.log") as site:
        yield site


def written(folder: Path, url: str) -> str:
    (folder / "endless.yaml").write_text(RULES.format(url=url, xpath=ENDLESS))
    return "endless.yaml"


def test_costly_pages_are_kept_in_every_format_that_can_be_made(site: Running, tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    urls = [site.url(path) for path in COSTLY]
    asked = ("--scope", "listed", "--formats", "main,tables,markdown", "-o", "pages.jsonl")
    ran = shoal.crawl(*urls, *asked)
    assert (ran.code, ran.summary["pages"], ran.summary["dead"]) == (0, len(COSTLY), 0)
    (error,) = [line for line in ran.lines if line["type"] == "error"]
    assert (error["kind"], error["count"]) == ("format_missing", 1)
    assert error["sample"].startswith(f"{site.url(QUOTES)}: main: ")


def test_an_interrupt_ends_a_crawl_whose_rules_never_do(site: Running, tmp_path: Path) -> None:
    shoal = Here(tmp_path)
    rules = written(tmp_path, site.url(SIBLINGS))
    with shoal.start("crawl", rules, "--allow-private", "--rate", "0") as process:
        reader = reader_of(process.pid)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130
    until(lambda: is_gone(reader))
    (figures,) = shoal("job", "last", "--json").lines
    assert (figures["state"], figures["queued"], figures["leased"]) == ("interrupted", 1, 0)


def test_the_time_of_a_job_ends_a_crawl_whose_rules_never_do(site: Running, tmp_path: Path) -> None:
    rules = written(tmp_path, site.url(SIBLINGS))
    ran = Shell(tmp_path).crawl(rules, "--max-seconds", "2")
    assert (ran.summary["state"], ran.summary["dead"]) == ("limited", 0)


@pytest.mark.parametrize("command", ["check", "shell"])
def test_an_interrupt_ends_a_trial_of_what_never_does(tmp_path: Path, command: str) -> None:
    (tmp_path / "page.html").write_bytes(COSTLY[SIBLINGS])
    words = {
        "check": ("check", written(tmp_path, "http://site.test/"), "--file", "page.html"),
        "shell": ("shell", "page.html", "-c", f"xpath('{ENDLESS}')"),
    }[command]
    with Shell(tmp_path).start(*words) as process:
        reader = reader_of(process.pid)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=WITHIN_S)
    assert process.returncode != 0
    until(lambda: is_gone(reader))


def test_a_trial_of_what_never_ends_is_bounded() -> None:
    page = Page("http://site.test/", COSTLY[SIBLINGS], html=COSTLY[SIBLINGS])
    question = {"do": "select", "kind": "xpath", "selector": ENDLESS, "page": RulesRequest.of(page)}
    with pytest.raises(ReadFailed, match="took more than"):
        ask_once(question, page.body, seconds=0.7)
