"""What a person reads on a terminal: broken between words, and what is to be copied not at all."""

from __future__ import annotations

import os
import pty
from pathlib import Path

from shoal.cli.terminal_text import wrapped
from tests.cli.conftest import Shell

WIDTH = 60
COMMAND = "`shoal --home /srv/crawls resume nfn68k4gsfp --max-pages N`"


def test_lines_are_broken_between_words_and_lose_none() -> None:
    text = "  error: " + " ".join(f"word{n}" for n in range(40))
    lines = wrapped(text, WIDTH)
    assert max(map(len, lines)) <= WIDTH and " ".join(" ".join(lines).split()) == text.strip()
    assert [len(line) - len(line.lstrip()) for line in lines[:2]] == [2, 6]
    assert wrapped(text[:WIDTH], WIDTH) == [text[:WIDTH]]


def test_a_command_to_be_copied_stays_whole_though_it_is_wider() -> None:
    lines = wrapped(f"error: the job is limited, its limit of pages is reached: {COMMAND} goes on", WIDTH - 10)
    assert any(COMMAND in line for line in lines)


def test_only_a_terminal_gets_an_error_in_several_lines(tmp_path: Path) -> None:
    shoal = Shell(tmp_path)
    words = ("crawl", "https://example.com/", "-o", "a-folder-that-nobody-has-made/with-a-file-of-some-name.jsonl")
    ours, theirs = pty.openpty()
    with shoal.start(*words, stderr=theirs) as process:
        assert process.wait() == 2
    told = os.read(ours, 10_000).decode().split("\r\n")
    os.close(ours)
    os.close(theirs)
    piped = shoal(*words).err
    assert piped.count("\n") == 1 and len(piped) > 80
    assert max(map(len, told)) <= 80 and " ".join(" ".join(told).split()) == piped.strip()
