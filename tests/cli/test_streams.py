"""Commands whose output nobody reads to its end, or whose streams are closed from the beginning."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shoal.practice import Running
from tests.cli.conftest import TIMEOUT_S, Here, Ran


def unread(shoal: Here, *args: str) -> Ran:
    """With a pipe for its output that has no reader any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return shoal.apart(*args, stdout=writing)
    finally:
        os.close(writing)


def with_closed(shoal: Here, closing: str, *args: str) -> Ran:
    """As a shell runs it that was told to close streams."""
    line = f'exec "$@" {closing}'
    ran = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "shoal", *args],
        cwd=shoal.folder,
        env=shoal.environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_a_reader_that_has_had_enough_is_no_fault(shoal: Here, site: Running) -> None:
    shoal.crawl(site.url(), "--max-pages", "3")
    for command in ("jobs", "pages last", "pages last --json", "export last --warc -o -"):
        ran = unread(shoal, *command.split())
        assert (ran.code, ran.err) == (0, ""), command


@pytest.mark.parametrize("told", [("-o", "-"), ("--json",)])
def test_a_crawl_whose_output_nobody_reads_ends_as_it_would(shoal: Here, site: Running, told: tuple[str, ...]) -> None:
    limited = ("--max-pages", "2", "--error-on-limit", "--allow-private", "--rate", "0")
    ran = unread(shoal, "crawl", site.url(), *limited, *told)
    assert ran.code == 6 and "Traceback" not in ran.err
    assert ("see also: " in ran.err) == ("--json" not in told)
    assert shoal("job", "last", "--json").lines[0]["state"] == "limited"


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_a_stream_that_is_closed_costs_only_what_would_be_on_it(shoal: Here, site: Running, closing: str) -> None:
    ran = with_closed(shoal, closing, "crawl", site.url(), "--max-pages", "1", "--allow-private", "-o", "-")
    assert ran.code == 0 and "Traceback" not in ran.err
    ran = with_closed(shoal, closing, "jobs")
    assert ran.code == 0 and ("limited" in ran.out) == (not closing.startswith(">"))
