"""The reference tells of every command, option and setting there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from shoal.cli import COMMANDS, shoal
from shoal.cli.session import OPTIONS
from shoal.settings import NAMES

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"


def commands() -> Iterator[tuple[str, click.Command]]:
    ctx = click.Context(shoal)
    for name in COMMANDS:
        command = shoal.get_command(ctx, name)
        assert command is not None
        yield f"shoal {name}", command
        if isinstance(command, click.Group):
            yield from ((f"shoal {name} {part}", below) for part, below in command.commands.items())


def sections() -> dict[str, str]:
    """By heading, the text up to the next heading."""
    _, *parts = re.split(r"^#+ (.+)$", (REFERENCE / "cli.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def names(params: list[click.Parameter]) -> set[str]:
    options = [param for param in params if isinstance(param, click.Option)]
    return {name for option in options for name in (*option.opts, *option.secondary_opts) if name.startswith("--")}


def missing(wanted: set[str], text: str) -> list[str]:
    return sorted(name for name in wanted if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


@pytest.mark.parametrize(("title", "command"), list(commands()))
def test_the_reference_has_a_section_with_every_option_and_an_example(title: str, command: click.Command) -> None:
    section = sections().get(title, "")
    own = names([param for param in command.params if param not in OPTIONS])
    assert not missing(own, section), f"docs/reference/cli.md, section {title!r}"
    assert f"Usage: {title}" in section
    if not isinstance(command, click.Group):
        assert f"$ {title}" in section


def test_the_reference_names_every_global_option() -> None:
    assert not missing(names(shoal.params), sections()["Global options"])


def test_every_command_explains_itself_with_an_example() -> None:
    without = [title for title, command in commands() if f"{title} " not in f"{command.help} ".replace("\n", " ")]
    assert not without


def test_the_reference_names_every_setting_and_its_variable() -> None:
    text = (REFERENCE / "settings.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", text, flags=re.MULTILINE))
    assert rows == {name: f"SHOAL_{name.upper()}" for name in NAMES}
