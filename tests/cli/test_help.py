from __future__ import annotations

import re

import pytest

from shoal.model.option import Section
from shoal.model.options import OPTIONS
from tests.cli.conftest import Shell

COMMANDS = {"crawl": ("crawl",), "submit": ("submit",), "schedule add": ("schedule", "add")}


def sections(shoal: Shell, words: tuple[str, ...]) -> dict[str, list[str]]:
    """By heading, the flags in their order."""
    shown = shoal(*words, "--help").out
    _, *parts = re.split(r"^(\w[\w ]+):\n", shown[shown.index("\nOptions:\n") :], flags=re.MULTILINE)
    return {
        heading: re.findall(r"^  (?:-\w, )?--([\w-]+)", text, flags=re.MULTILINE)
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_the_most_used_options_come_first_and_each_stands_once(shoal: Shell, name: str) -> None:
    found = sections(shoal, COMMANDS[name])
    assert list(found) == ["Options", *Section, "Global options"]
    flags = [flag for names in found.values() for flag in names]
    assert len(flags) == len(set(flags))
    expected = {option.flag.removeprefix("--") for option in OPTIONS.values() if option.on_command_line}
    assert expected <= set(flags)
    for option in OPTIONS.values():
        if option.on_command_line:
            flag = option.flag.removeprefix("--")
            assert flag in found[option.section] or flag in found["Options"]


def test_ten_options_are_the_most_used(shoal: Shell) -> None:
    first = sections(shoal, ("crawl",))["Options"]
    assert len(first) == 10 and first[:1] == ["output"] and {"max-pages", "scope", "rate"} < set(first)


def test_other_commands_show_their_own_options_before_the_global_ones(shoal: Shell) -> None:
    shown = shoal("jobs", "--help").out
    assert shown.index("--limit") < shown.index("\nGlobal options:\n") < shown.index("--home")
    assert "\nOptions:" not in shoal("job", "--help").out, "it has none of its own"
