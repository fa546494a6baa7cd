"""One test, because the demo takes some seconds: it runs twice at the same time, for a person and for a program."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.conftest import TIMEOUT_S, Ran, Shell

RATE = 10


def test_the_demo_crawls_the_practice_site_politely_and_shows_it(tmp_path: Path) -> None:
    person, program = Shell(tmp_path / "person"), Shell(tmp_path / "program")
    for shell in (person, program):
        shell.folder.mkdir()
    with person.start("demo") as told, program.start("demo", "--json") as reported:
        in_words = Ran(0, *told.communicate(timeout=TIMEOUT_S))
        as_json = Ran(0, *reported.communicate(timeout=TIMEOUT_S))
    assert (told.returncode, reported.returncode) == (0, 0)
    _check_words(person, in_words)
    _check_json(program, as_json)


def _check_words(shoal: Shell, ran: Ran) -> None:
    assert "done, 235 pages of 3 hosts" in ran.err or "pages of 1 host" in ran.err
    assert "redirect_loop x1" in ran.err and "500 x3" in ran.err, "the errors are grouped"
    rows = re.findall(r"^ +(\d+) +(\d+) +(\d+)  127\.0\.0\.\d:\d+$", ran.out, re.MULTILINE)
    assert rows and all(int(most) <= RATE + 1 for _, most, _ in rows)
    assert max(map(len, ran.out.splitlines())) <= 80
    (command,) = re.findall(r"^  shoal (job \S+)$", ran.out, re.MULTILINE)
    assert "shops, done" in shoal(*command.split()).out, "the job is there to be looked at"


def _check_json(shoal: Shell, ran: Ran) -> None:
    seen = [line for line in ran.lines if line["type"] == "politeness"]
    assert ran.summary["state"] == "done" and ran.summary["dead"] == 2
    # Of the crawl: beside other tests, whatever starts waits for a core.
    assert ran.summary["seconds"] < 60
    assert len(seen) == ran.summary["hosts"]
    assert all(0 < host["most_in_a_second"] <= host["rate"] + 1 for host in seen)
    assert sum(host["requests"] for host in seen) > ran.summary["pages"]
