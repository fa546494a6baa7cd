"""The reference tells of every command, option and setting there is, and what the docs name and link to is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from shoal.cli import COMMANDS, shoal
from shoal.cli.session import OPTIONS
from shoal.fleet.configuration import configuration
from shoal.settings import NAMES, Settings

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted([*ROOT.glob("*.md"), *(page for room in ("docs", "examples") for page in (ROOT / room).rglob("*.md"))])


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


def test_the_example_of_config_show_has_every_setting() -> None:
    assert re.findall(r"^(\w+) +default  ", sections()["shoal config show"], flags=re.MULTILINE) == list(NAMES)


def test_no_command_is_told_of_that_there_is_not() -> None:
    assert {title for title in sections() if title.startswith("shoal ")} == {title for title, _ in commands()}


def test_every_setting_of_celery_is_given_with_its_reason() -> None:
    given = configuration(Settings(ROOT, "redis://localhost:6379/0", "redis://localhost:6379/1"))
    text = (ROOT / "docs" / "internals" / "celery.md").read_text()
    assert not [name for name in (*given, *given["broker_transport_options"]) if f"`{name}`" not in text]


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_page_and_a_heading_that_are_there(page: Path) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", without_blocks(page)):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        there = page.parent / path if path else page
        assert there.exists() and (not anchor or anchor in anchors(there)), link


def test_every_module_that_the_architecture_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`([\w/]+/\w+\.(?:py|lua))[`:]", text)
    places = (ROOT, ROOT / "src" / "shoal", *(ROOT / "src" / "shoal" / room for room in ("control", "frontier")))
    assert len(named) > 100
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_every_test_that_the_page_on_security_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "security.md").read_text()))
    assert len(named) > 20
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
